// SPDX-License-Identifier: MIT
#include "app/ui/shell/rail.h"

#include <QButtonGroup>
#include <QShortcut>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {

Rail::Rail(Theme &theme, QWidget *parent) : QFrame(parent), m_theme(theme), m_layout(new QVBoxLayout(this)) {
    setObjectName(QStringLiteral("rail"));
    setFixedWidth(10 * grid);
    m_layout->setContentsMargins(grid, grid, grid, grid);
    m_layout->setSpacing(grid / 2);
    m_layout->addStretch(1);
    m_themeButton = new QToolButton(this);
    m_themeButton->setIconSize({20, 20});
    m_themeButton->setFixedSize(8 * grid, 4 * grid);
    m_themeButton->setFocusPolicy(Qt::TabFocus);
    m_themeButton->setAccessibleName(tr("Light or dark"));
    m_themeButton->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_T));
    connect(m_themeButton, &QToolButton::clicked, this, &Rail::nextTheme);
    m_layout->addWidget(m_themeButton);
    restyle();
    connect(&m_theme, &Theme::changed, this, &Rail::restyle);
}

void Rail::addPage(const QString &name, const QString &icon, const QString &hint) {
    auto *button = new QToolButton(this);
    button->setObjectName(QStringLiteral("railButton"));
    button->setText(name);
    button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    button->setIconSize({24, 24});
    button->setFixedSize(8 * grid, 7 * grid);
    button->setCheckable(true);
    button->setAutoExclusive(true);
    const int page = int(m_buttons.size());
    const QKeySequence keys(Qt::CTRL | Qt::Key(Qt::Key_1 + page));
    button->setShortcut(keys);
    button->setToolTip(QStringLiteral("%1 (%2)").arg(hint, keys.toString(QKeySequence::NativeText)));
    connect(button, &QToolButton::clicked, this, [this, page] {
        setCurrent(page);
        Q_EMIT chosen(page);
    });
    m_layout->insertWidget(page, button);
    m_buttons.append(button);
    m_icons.append(icon);
    button->setChecked(page == m_current);
    restyle();
}

void Rail::setCurrent(int page) {
    m_current = page;
    m_buttons[page]->setChecked(true);
    restyle();
}

void Rail::restyle() {
    const Palette &p = m_theme.palette();
    for (qsizetype i = 0; i < m_buttons.size(); ++i)
        m_buttons[i]->setIcon(m_theme.icon(m_icons[i], i == m_current ? p.text : p.textSecondary));
    const bool system = m_theme.mode() == ThemeMode::System, dark = m_theme.mode() == ThemeMode::Dark;
    m_themeButton->setIcon(m_theme.icon(system ? QStringLiteral("theme-system")
                                        : dark ? QStringLiteral("theme-dark")
                                               : QStringLiteral("theme-light"),
                                        p.textSecondary));
    m_themeButton->setToolTip(tr("Colours: %1. Press to change: light, dark, as the system (Ctrl+T)")
                                  .arg(system ? tr("system")
                                       : dark ? tr("dark")
                                              : tr("light")));
}

/// From the system's colours to the others, so that the first press is seen; then to the system's kept, then to the system.
void Rail::nextTheme() {
    const bool dark = m_theme.isDark();
    if (m_theme.mode() == ThemeMode::System || dark != m_theme.systemIsDark())
        return m_theme.setMode(dark ? ThemeMode::Light : ThemeMode::Dark);
    m_theme.setMode(ThemeMode::System);
}

} // namespace lockstep::ui

#include "moc_rail.cpp"
