#pragma once
#include <memory>
#include <set>
#include <vector>

#include <QAbstractTableModel>

#include "analysis/run_rows.h"
#include "store/run_index.h"

namespace lockstep::core {

/// The history as it is shown: filtered, sorted, repeats together. Columns are those of runColumns(), in that order, and
/// one more that counts a group's runs. Rows come and go singly while few change, so that a selection stays; a filter
/// that changes much resets. Thousands of runs: nothing here grows faster than n log n.
class RunListModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum ExtraRole {
        GroupRole = Qt::UserRole + 100, ///< bool: the head of a group
        OpenRole,                       ///< bool: its runs are shown
        MemberRole                      ///< bool: a run within a group
    };
    /// `index` may be null: an empty list that setRuns() fills.
    explicit RunListModel(std::unique_ptr<RunIndex> index, QObject *parent = nullptr);
    ~RunListModel() override;

    /// Looks at the disk now, on this thread (a window uses RunHistory). The error is the index's.
    Result<void> refresh();
    /// Newest first.
    void setRuns(std::vector<IndexedRun> runs);
    void setFilter(const RunFilter &filter);
    void setGrouped(bool grouped);
    void setOpen(int row, bool open); ///< a group's head

    [[nodiscard]] const std::vector<IndexedRun> &runs() const { return m_runs; }
    [[nodiscard]] int matched() const { return m_shown.matched; } ///< runs that the filter accepts
    [[nodiscard]] bool grouped() const { return m_grouped; }
    [[nodiscard]] bool isGroup(int row) const { return rowAt(row).run < 0; }
    /// The run of a row; of a group's head its newest.
    [[nodiscard]] const IndexedRun &runAt(int row) const;
    /// The run of a row; all runs of a group's head.
    [[nodiscard]] std::vector<const IndexedRun *> runsAt(int row) const;
    [[nodiscard]] int rowOf(const std::string &run) const; ///< -1: not shown
    [[nodiscard]] const IndexedRun *find(const std::string &run) const;
    [[nodiscard]] RunIndex *index() const { return m_index.get(); }
    using QAbstractTableModel::index;
    [[nodiscard]] static int countColumn(); ///< "Runs": how many a group has

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    /// The name, by EditRole: asks for it (`renameAsked`) and changes nothing itself.
    bool setData(const QModelIndex &index, const QVariant &value, int role = Qt::EditRole) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex &index) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

Q_SIGNALS:
    void renameAsked(const QString &run, const QString &name);

private:
    [[nodiscard]] const RunRow &rowAt(int row) const { return m_shown.rows[std::size_t(row)]; }
    [[nodiscard]] const RunGroup &groupAt(int row) const { return m_shown.groups[std::size_t(rowAt(row).group)]; }
    [[nodiscard]] RunRows rowsNow() const;
    [[nodiscard]] static std::string keyOf(const RunRows &rows, const std::vector<IndexedRun> &runs, std::size_t row);
    void show(RunRows rows, std::vector<IndexedRun> *runs);
    /// `to`: where each present row goes, -1: nowhere.
    void showSingly(RunRows rows, std::vector<IndexedRun> *runs, const std::vector<int> &to);
    void showReordered(RunRows rows, std::vector<IndexedRun> *runs, const std::vector<int> &to);
    [[nodiscard]] QVariant groupData(int row, int column, int role) const;
    [[nodiscard]] QVariant runData(int row, int column, int role) const;

    std::unique_ptr<RunIndex> m_index;
    std::vector<IndexedRun> m_runs; ///< newest first
    std::vector<int> m_sorted;      ///< all of them in the order asked for
    RunRows m_shown;
    RunFilter m_filter;
    RunOrder m_order;
    bool m_grouped = false;
    std::set<std::string> m_open;
};

} // namespace lockstep::core
