// SPDX-License-Identifier: MIT
#pragma once
#include <QCompleter>
#include <QLineEdit>
#include <QStandardItemModel>

#include <functional>

#include "analysis/history/run_filter.h"

namespace lockstep::ui {

/// The filter line of the runs: offers keys and values during typing, marks a mistake and says where it is.
/// The part before a mistake applies; an unfinished word that may become a column's name is not searched for.
class RunFilterLine : public QLineEdit {
    Q_OBJECT
public:
    /// `runs`: whose values are offered.
    RunFilterLine(std::function<const std::vector<core::IndexedRun> &()> runs, QWidget *parent = nullptr);
    [[nodiscard]] QString mistake() const { return m_mistake; } ///< empty when the line makes sense
    /// Parses the line again: new runs may have brought its columns.
    void read();
    [[nodiscard]] QCompleter *completions() { return &m_completer; }

Q_SIGNALS:
    void filterChanged(const lockstep::core::RunFilter &filter);
    void mistakeChanged(const QString &sentence);
    void left(); ///< Escape, Enter, Down: on to the table

protected:
    void keyPressEvent(QKeyEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;

private:
    void offer();
    void take(const QModelIndex &choice);

    std::function<const std::vector<core::IndexedRun> &()> m_runs;
    QStandardItemModel m_choices;
    QCompleter m_completer;
    QString m_mistake, m_applied; ///< m_applied: the valid part of the line
    bool m_writing = false, m_edited = false;
    qsizetype m_from = 0, m_length = 0; ///< what a choice replaces
};

} // namespace lockstep::ui
