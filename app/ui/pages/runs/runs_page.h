// SPDX-License-Identifier: MIT
#pragma once
#include <QTimer>
#include <QWidget>

#include <deque>
#include <functional>
#include <vector>

#include "ipc/run_config.h"
#include "store/run_history.h"

class QAction;
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
class RunColumns;
class RunDetails;
class RunFilterLine;
class RunsDiff;
class Theme;
class Workspace;

/// Runs: the history. A filter line, the table (sorted, repeats together, columns chosen), beside it what is known and said
/// of the chosen run, or two runs compared. What is done to runs can be undone.
class RunsPage : public QWidget {
    Q_OBJECT
public:
    RunsPage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    ~RunsPage() override;
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] RunFilterLine *filterLine() const { return m_line; }
    [[nodiscard]] RunDetails *details() const { return m_details; }
    [[nodiscard]] RunsDiff *diff() const { return m_diff; }
    [[nodiscard]] RunColumns *columns() const { return m_columns; }
    [[nodiscard]] core::RunListModel &list() const { return m_list; }
    /// Looks at the disk again.
    void refresh();
    /// Chosen rows' runs, a group's all, in the table's order.
    [[nodiscard]] std::vector<const core::IndexedRun *> chosen() const;
    /// Columns, sorting, grouping and the splitter are read from this settings file and kept in it.
    void keepIn(const QString &file);
    void keep() const;
    void resetLayout();

Q_SIGNALS:
    void experimentWanted(const QString &id); ///< experiment, or run when it has none
    void runWanted(const QString &runId);     ///< the run alone
    void planWanted();
    void duplicateWanted(const lockstep::RunConfig &config, const QString &name); ///< into Plan

protected:
    void showEvent(QShowEvent *event) override;

private:
    /// Something that can be taken back, or made again; what it becomes is told by RunHistory.
    struct Step {
        QString done; ///< said when it is done; empty: RunHistory says so itself
        std::function<void()> act;
    };
    enum class Offer { None, Undo, Redo };
    QWidget *buildBody();
    QWidget *buildLine(QWidget *parent);
    void buildTools(Card &card);
    QWidget *buildNotice(QWidget *parent);
    void buildTable(QWidget *parent);
    void buildActions();
    QAction *addAction(const QString &words, const QKeySequence &keys, void (RunsPage::*slot)());
    void addSeparator();
    void connectHistory();
    void openCurrent(bool alone);
    void open();
    void openAlone();
    void rename();
    void star();
    void writeTags();
    void writeNote();
    void compare();
    void duplicate();
    void copyIds();
    void remove();
    void undo();
    void redo();
    void takeBack(Step step, bool again);
    void setGrouped(bool grouped);
    void emptyTrash();
    void rememberChoice();
    void restoreChoice();
    void showChosen();
    void chooseAny();
    void updateState();
    void notice(const QString &sentence, Offer offer);
    void restyle();

    Theme &m_theme;
    Workspace &m_workspace;
    core::RunListModel &m_list;
    core::RunHistory &m_history;
    QStackedWidget *m_stack, *m_tableStack, *m_side;
    RunFilterLine *m_line;
    QLabel *m_mistake, *m_count, *m_noticeText;
    QWidget *m_notice;
    QPushButton *m_undoButton, *m_groupButton, *m_columnsButton, *m_compareButton, *m_open;
    QTableView *m_table;
    QSplitter *m_split;
    RunColumns *m_columns;
    RunDetails *m_details;
    RunsDiff *m_diff;
    QString m_settings, m_reading;
    std::vector<Step> m_undo, m_redo;
    int m_redoing = 0;          ///< what is being made again and not told yet: it leaves the rest of m_redo as it is
    std::deque<bool> m_reverts; ///< notes on their way back: whether to take back, else to make again
    Offer m_offer = Offer::None;
    std::vector<std::string> m_kept; ///< chosen runs while the rows are made anew
    std::string m_current;
    QTimer m_timer;
    QList<int> m_sizesBefore; ///< of table and details while two runs are compared
    bool m_looked = false, m_fitted = false;
};

} // namespace lockstep::ui
