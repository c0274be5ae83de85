// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QList>
#include <QWidget>

#include <vector>

#include "analysis/compare/cell.h"

class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {

/// What pressing it does: "Add 4 repeats, about 2 min", "Repeat DDP on 2 devices (close other programs first)", "Run baseline, 2 workers".
[[nodiscard]] QString suggestionText(const core::SuggestedRun &run);
/// A button that starts a suggested run; where the pointer rests it says why, and its keys where it has some.
[[nodiscard]] QPushButton *makeSuggestionButton(const QString &text, const core::SuggestedRun &run,
                                                const QKeySequence &shortcut, QWidget *parent);
/// The words of such a button.
void describeSuggestion(QPushButton &button, const QString &text, const core::SuggestedRun &run);
/// Whether such buttons can be pressed, and the word that they say of why not.
void letStart(const QList<QPushButton *> &buttons, bool startable, const QString &why);

/// Control runs that would tell a waterfall's settings apart, each one press away; the most telling ones where there are many.
class VerdictControls : public QWidget {
    Q_OBJECT
public:
    explicit VerdictControls(QWidget *parent = nullptr);
    void setRuns(const std::vector<core::SuggestedRun> &runs);
    /// Whether runs can be started from here, and the word that a button says of why not.
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
