// SPDX-License-Identifier: MIT
#pragma once
#include <QTimer>
#include <QWidget>

#include <vector>

#include "ipc/run_folder.h"
#include "store/run_history.h"

class QLabel;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QTableView;

namespace lockstep::core {
class RunListModel;
}

namespace lockstep::ui {
class Card;
class PageStack;
class RunColumns;
class RunDetails;
class RunFilterLine;
class RunsActions;
class RunsDiff;
class RunsList;
class RunsNotice;
class RunsUndo;
class Theme;

/// Runs: the history. A filter line, the table (sorted, repeats grouped, columns chosen), beside it the details
/// of the chosen run, or a comparison of two. Actions on runs can be undone.
class RunsPage : public QWidget {
    Q_OBJECT
public:
    RunsPage(Theme &theme, core::RunListModel &list, core::RunHistory &history, QWidget *parent = nullptr);
    ~RunsPage() override;
    [[nodiscard]] QTableView *table() const;
    [[nodiscard]] RunFilterLine *filterLine() const { return m_line; }
    [[nodiscard]] RunDetails *details() const { return m_details; }
    [[nodiscard]] RunsDiff *diff() const { return m_diff; }
    [[nodiscard]] RunColumns *columns() const;
    [[nodiscard]] core::RunListModel &list() const { return m_list; }
    /// Reads the disk again.
    void refresh();
    /// The runs of the selected rows, for a group's head all its runs, in the table's order.
    [[nodiscard]] std::vector<const core::IndexedRun *> chosen() const;
    /// Columns, sorting, grouping and the splitter are read from this settings file and kept in it.
    void keepIn(const QString &file);
    void keep() const;
    void resetLayout();

Q_SIGNALS:
    void experimentWanted(const QString &id); ///< experiment, or run when it has none
    void runWanted(const QString &runId);     ///< the run alone
    void planWanted();
    void duplicateWanted(const lockstep::RunRecord &record, const QString &name); ///< into Plan

protected:
    void showEvent(QShowEvent *event) override;

private:
    QWidget *buildBody();
    QStackedWidget *buildSide(QWidget *parent);
    QWidget *buildLine(QWidget *parent);
    void buildTools(Card &card);
    void connectActions();
    void connectHistory();
    void addFindShortcuts();
    void compare();
    void closeComparison();
    void setGrouped(bool grouped);
    void showChosen();
    void updateState();
    void restyle();

    Theme &m_theme;
    core::RunListModel &m_list;
    core::RunHistory &m_history;
    PageStack *m_stack;
    QStackedWidget *m_side;
    RunFilterLine *m_line;
    QLabel *m_mistake, *m_count;
    RunsNotice *m_notice;
    RunsUndo *m_undo;
    RunsList *m_runs;
    RunsActions *m_actions;
    QPushButton *m_groupButton, *m_columnsButton, *m_compareButton, *m_open;
    QSplitter *m_split;
    RunDetails *m_details;
    RunsDiff *m_diff;
    QString m_settings, m_reading;
    QTimer m_timer;
    QList<int> m_sizesBefore; ///< of table and details while two runs are compared
    bool m_refreshed = false;
};

} // namespace lockstep::ui
