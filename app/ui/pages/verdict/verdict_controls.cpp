// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_controls.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t mostOffered = 3; // as in the terminal: most informative first

} // namespace

QString suggestionText(const core::SuggestedRun &run) {
    const QString name = QString::fromStdString(run.name);
    return run.rounds > 0       ? VerdictControls::tr("Add %1").arg(name)
           : !run.again.empty() ? VerdictControls::tr("Repeat %1").arg(name)
                                : VerdictControls::tr("Run %1").arg(name);
}

QPushButton *makeSuggestionButton(const QString &text, const core::SuggestedRun &run, const QKeySequence &shortcut,
                                  QWidget *parent) {
    auto *button = new QPushButton(parent);
    button->setShortcut(shortcut);
    describeSuggestion(*button, text, run);
    button->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    return button;
}

void describeSuggestion(QPushButton &button, const QString &text, const core::SuggestedRun &run) {
    const QKeySequence shortcut = button.shortcut(); // a new text takes it away
    const QString why = QString::fromStdString(run.why), keys = shortcut.toString(QKeySequence::NativeText);
    button.setText(text);
    button.setShortcut(shortcut);
    button.setProperty("why", keys.isEmpty() ? why : QStringLiteral("%1 (%2)").arg(why, keys));
    button.setAccessibleDescription(why);
}

void letStart(const QList<QPushButton *> &buttons, bool startable, const QString &why) {
    for (QPushButton *button : buttons) {
        button->setEnabled(startable);
        button->setToolTip(startable ? button->property("why").toString() : why);
    }
}

VerdictControls::VerdictControls(QWidget *parent) : QWidget(parent), m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(grid);
    hide();
}

void VerdictControls::addRow(const core::SuggestedRun &run) {
    auto *row = new QWidget(this);
    auto *below = new QVBoxLayout(row); // the card is half a page wide: too narrow for words beside the button
    below->setContentsMargins(0, 0, 0, 0);
    below->setSpacing(grid / 2);
    const QKeySequence keys(int(Qt::CTRL) | int(Qt::Key_G), int(Qt::Key_A) + int(m_buttons.size()));
    auto *button = makeSuggestionButton(suggestionText(run), run, keys, row);
    connect(button, &QPushButton::clicked, this, [this, run] { Q_EMIT wanted(run); });
    m_buttons.append(button);
    below->addWidget(button);
    QLabel *reason = makeLabel(QString::fromStdString(run.why), "muted", row);
    reason->setWordWrap(true);
    reason->setTextInteractionFlags(Qt::TextSelectableByMouse);
    below->addWidget(reason);
    m_layout->addWidget(row);
}

void VerdictControls::setRuns(const std::vector<core::SuggestedRun> &runs) {
    if (runs == m_runs)
        return;
    m_runs = runs;
    clear(*m_layout);
    m_buttons.clear();
    if (!runs.empty())
        m_layout->addWidget(makeLabel(tr("Missing controls"), "small", this));
    for (std::size_t i = 0; i < std::min(runs.size(), mostOffered); ++i)
        addRow(runs[i]);
    if (runs.size() > mostOffered)
        m_layout->addWidget(
            makeLabel(tr("%1 more stand in the exported page").arg(runs.size() - mostOffered), "muted", this));
    setStartable(m_startable, m_why);
    setVisible(!runs.empty());
}

void VerdictControls::setStartable(bool startable, const QString &why) {
    m_startable = startable;
    m_why = why;
    letStart(m_buttons, startable, why);
}

} // namespace lockstep::ui
