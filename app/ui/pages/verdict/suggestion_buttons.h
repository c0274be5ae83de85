// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QString>

#include "analysis/compare/repeat_group.h"
#include "app/ui/widgets/held_focus.h"

class QPushButton;
class QWidget;

namespace lockstep::ui {

/// The action of such a button: "Add 4 repeats, about 2 min", "Repeat DDP on 2 devices (close other programs first)", "Run baseline, 2 workers".
[[nodiscard]] QString suggestionText(const core::SuggestedRun &run);

/// The buttons of one part of Verdict that start suggested runs: enabled together, made anew with the rows that they stand in.
class SuggestionButtons : public QObject {
    Q_OBJECT
public:
    /// `owner` holds the rows.
    explicit SuggestionButtons(QWidget *owner);
    /// A button whose tooltip says why, and its keys if it has any.
    QPushButton *add(const QString &text, const core::SuggestedRun &run, const QKeySequence &keys, QWidget *parent);
    /// Before the rows are deleted.
    void clear();
    /// Whether runs can be started from here; if not, the reason as a button's text.
    void setStartable(bool startable, const QString &why);
    /// After the rows are made anew.
    void refresh() { setStartable(m_startable, m_why); }
    /// From the top.
    [[nodiscard]] const QList<QPushButton *> &all() const { return m_buttons; }

Q_SIGNALS:
    void wanted(const core::SuggestedRun &run);

private:
    QList<QPushButton *> m_buttons;
    HeldFocus m_focus;
    bool m_startable = true;
    QString m_why;
};

} // namespace lockstep::ui
