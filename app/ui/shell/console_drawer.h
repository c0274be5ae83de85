// SPDX-License-Identifier: MIT
#pragma once
#include <set>

#include <QFrame>
#include <QSortFilterProxyModel>
#include <QTimer>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;
class QToolButton;

namespace lockstep::ui {
class Theme;
class Workspace;

/// Console lines by rank, least level and text.
class ConsoleFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setSource(const QString &source); ///< "rank 1", "agent"; empty: all
    void setLeastLevel(int level);         ///< 0 debug … 3 error
    void setText(const QString &text);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex &parent) const override;

private:
    QString m_source, m_text;
    int m_level = 0;
};

/// The drawer below: every rank's console and the agent's, and the alerts. Folded to its head until opened. Shows the last
/// line until the person scrolls away from it. Filters hide lines; the search goes from one hit to the next.
class ConsoleDrawer : public QFrame {
    Q_OBJECT
public:
    ConsoleDrawer(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    void setUnfolded(bool unfolded);
    [[nodiscard]] bool isUnfolded() const { return m_unfolded; }
    [[nodiscard]] ConsoleFilter *filter() { return &m_filter; }
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] QTableView *alertTable() const { return m_alerts; }
    [[nodiscard]] QLineEdit *searchLine() const { return m_search; }
    [[nodiscard]] QLabel *searchNote() const { return m_searchNote; }
    [[nodiscard]] QCheckBox *notifyBox() const { return m_notify; }
    [[nodiscard]] QPushButton *seenButton() const { return m_seen; }
    void showAlertsOf(const QString &runId); ///< opens the alerts at that run's newest one
    /// Selects the run's line nearest to a time, unless the filters hide all its lines.
    void showTime(const QString &runId, qint64 wallUs);

Q_SIGNALS:
    /// A line was chosen: when it was written, and by which run.
    void timeChosen(const QString &runId, qint64 wallUs);

private:
    QWidget *buildSearch();
    void chooseLine(const QModelIndex &index);
    void goTo(int row); ///< of the filter
    /// Selects the next (or previous) hit from the current line on; wraps around.
    void searchNext(int direction);
    void countHits();
    [[nodiscard]] bool isHit(int row) const;
    QWidget *buildTools();
    QWidget *buildAlertTools();
    void refreshHead();
    void refreshSources();
    void fitRuns();
    void fitRunsSoon(); ///< once for all the names that change meanwhile
    void showAlerts(bool alerts);

    Theme &m_theme;
    Workspace &m_workspace;
    ConsoleFilter m_filter;
    QToolButton *m_head, *m_alertsHead;
    QWidget *m_tools, *m_alertTools;
    QCheckBox *m_notify;
    QPushButton *m_seen;
    QComboBox *m_source, *m_level;
    std::set<int> m_listedRanks; ///< in m_source
    QLineEdit *m_text, *m_search;
    QLabel *m_searchNote;
    QTableView *m_table, *m_alerts;
    bool m_unfolded = false, m_atEnd = true;
    QTimer m_fitting;
    int m_runsWidth = 0, m_alertRunsWidth = 0; ///< px that fitRuns() last gave their columns; 0: none yet
};

} // namespace lockstep::ui
