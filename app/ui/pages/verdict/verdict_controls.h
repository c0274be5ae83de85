// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QList>
#include <QWidget>

#include <vector>

#include "analysis/compare/repeat_group.h"

class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {

/// The action of such a button: "Add 4 repeats, about 2 min", "Repeat DDP on 2 devices (close other programs first)", "Run baseline, 2 workers".
[[nodiscard]] QString suggestionText(const core::SuggestedRun &run);
/// A button that starts a suggested run; its tooltip says why, and its keys if it has any.
[[nodiscard]] QPushButton *makeSuggestionButton(const QString &text, const core::SuggestedRun &run,
                                                const QKeySequence &shortcut, QWidget *parent);
/// The text of such a button.
void describeSuggestion(QPushButton &button, const QString &text, const core::SuggestedRun &run);
/// Whether such buttons are enabled; if not, the reason as their text.
void letStart(const QList<QPushButton *> &buttons, bool startable, const QString &why);

/// Buttons for control runs that would tell a waterfall's settings apart; the most informative ones where there are many.
class VerdictControls : public QWidget {
    Q_OBJECT
public:
    explicit VerdictControls(QWidget *parent = nullptr);
    void setRuns(const std::vector<core::SuggestedRun> &runs);
    /// Whether runs can be started from here; if not, the reason as a button's text.
    void setStartable(bool startable, const QString &why);
    [[nodiscard]] const QList<QPushButton *> &buttons() const { return m_buttons; }

Q_SIGNALS:
    void wanted(const core::SuggestedRun &run);

private:
    void addRow(const core::SuggestedRun &run);
    std::vector<core::SuggestedRun> m_runs;
    QVBoxLayout *m_layout;
    QList<QPushButton *> m_buttons;
    bool m_startable = true;
    QString m_why;
};

} // namespace lockstep::ui
