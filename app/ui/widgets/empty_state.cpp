// SPDX-License-Identifier: MIT
#include "app/ui/widgets/empty_state.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {
namespace {
constexpr int buttonWidth = 200; ///< px at least
}

EmptyState::EmptyState(const Theme &theme, const QString &icon, const QString &title, const QString &text,
                       const QString &button, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_icon(icon), m_layout(new QVBoxLayout(this)), m_picture(new QLabel(this)) {
    QVBoxLayout *layout = m_layout;
    layout->setSpacing(grid);
    layout->addStretch(2);
    layout->addWidget(m_picture, 0, Qt::AlignHCenter);
    layout->addSpacing(grid);
    m_title = makeLabel({}, "title", this);
    layout->addWidget(m_title, 0, Qt::AlignHCenter);
    m_words = makeLabel({}, "secondary", this);
    m_words->setWordWrap(true);
    m_words->setAlignment(Qt::AlignHCenter);
    m_words->setFixedWidth(60 * grid);
    layout->addWidget(m_words, 0, Qt::AlignHCenter);
    layout->addSpacing(grid);
    m_next = new QPushButton(this);
    m_next->setMinimumWidth(buttonWidth);
    connect(m_next, &QPushButton::clicked, this, &EmptyState::clicked);
    layout->addWidget(m_next, 0, Qt::AlignHCenter);
    layout->addStretch(3);
    setWords(title, text, button);
    restyle();
    connect(&m_theme, &Theme::changed, this, &EmptyState::restyle);
}

void EmptyState::setWords(const QString &title, const QString &text, const QString &button) {
    m_title->setText(title);
    m_words->setText(text);
    m_words->setMinimumHeight(
        std::max(0, m_words->heightForWidth(60 * grid))); // a centred item would get one line only
    m_next->setText(button);
}

QPushButton *EmptyState::addChoice(const QString &words, const QString &hint) {
    auto *button = new QPushButton(words, this);
    button->setMinimumWidth(buttonWidth);
    button->setToolTip(hint);
    addBelow(button);
    return button;
}

void EmptyState::addBelow(QWidget *widget) {
    m_layout->insertWidget(m_layout->count() - 1, widget, 0, Qt::AlignHCenter);
}

void EmptyState::restyle() {
    m_picture->setPixmap(m_theme.icon(m_icon, m_theme.palette().textMuted).pixmap(48, 48));
}

} // namespace lockstep::ui

#include "moc_empty_state.cpp"
