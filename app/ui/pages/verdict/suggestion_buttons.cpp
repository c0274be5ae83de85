// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/suggestion_buttons.h"

#include <QPushButton>

#include "app/ui/widgets/elided_button.h"

namespace lockstep::ui {
namespace {

constexpr int leastButtonWidth = 160; // px

/// How many repeats, and for how long, can't be left out; a run's name may be cut short.
int leastWidthOf(const core::SuggestedRun &run) {
    return run.rounds > 0 ? QWIDGETSIZE_MAX : leastButtonWidth;
}

} // namespace

QString suggestionText(const core::SuggestedRun &run) {
    const QString name = QString::fromStdString(run.name);
    return run.rounds > 0       ? SuggestionButtons::tr("Add %1").arg(name)
           : !run.again.empty() ? SuggestionButtons::tr("Repeat %1").arg(name)
                                : SuggestionButtons::tr("Run %1").arg(name);
}

SuggestionButtons::SuggestionButtons(QWidget *owner) : QObject(owner), m_focus(*owner) {}

QPushButton *SuggestionButtons::add(const QString &text, const core::SuggestedRun &run, const QKeySequence &keys,
                                    QWidget *parent) {
    auto *button = new ElidedButton(text, leastWidthOf(run), parent);
    button->setShortcut(keys);
    const QString why = QString::fromStdString(run.why), keysText = keys.toString(QKeySequence::NativeText);
    button->setProperty("why", keysText.isEmpty() ? why : QStringLiteral("%1 (%2)").arg(why, keysText));
    button->setAccessibleDescription(why);
    button->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    connect(button, &QPushButton::clicked, this, [this, run] { Q_EMIT wanted(run); });
    m_buttons.append(button);
    return button;
}

void SuggestionButtons::clear() {
    m_focus.hold(m_buttons);
    m_buttons.clear();
}

void SuggestionButtons::setStartable(bool startable, const QString &why) {
    m_startable = startable;
    m_why = why;
    if (!startable)
        m_focus.hold(m_buttons);
    for (QPushButton *button : m_buttons) {
        button->setEnabled(startable);
        button->setToolTip(startable ? button->property("why").toString() : why);
    }
    m_focus.giveBack(m_buttons);
}

} // namespace lockstep::ui

#include "moc_suggestion_buttons.cpp"
