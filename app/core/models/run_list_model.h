// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "analysis/history/run_rows.h"
#include "models/table_model.h"
#include "store/run_index.h"

namespace lockstep::core {

/// The history as shown: filtered, sorted, repeats grouped. Columns are those of runColumns(), in that order, then the count of
/// a group's runs, then one for each metric that scripts invented; these are added when runs with them appear, and stay.
/// While few rows change, they are inserted and removed one by one, so that a selection stays; a large change resets the model.
/// For thousands of runs: nothing here grows faster than n log n.
class RunListModel : public TableModel<RunRow> {
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

    /// Reads the disk now, on this thread (a window uses RunHistory). The error is the index's.
    Result<void> refresh();
    /// Newest first.
    void setRuns(std::vector<IndexedRun> runs);
    void setFilter(const RunFilter &filter);
    void setGrouped(bool grouped);
    void setOpen(int row, bool open); ///< a group's head

    [[nodiscard]] const std::vector<IndexedRun> &runs() const { return m_runs; }
    [[nodiscard]] int matched() const { return m_matched; } ///< runs that the filter accepts
    [[nodiscard]] bool grouped() const { return m_grouped; }
    [[nodiscard]] bool isGroup(int row) const { return rowAt(row).run < 0; } ///< a group's head
    /// The run of a row; for a group's head its newest run.
    [[nodiscard]] const IndexedRun &runAt(int row) const;
    /// The run of a row; for a group's head all its runs.
    [[nodiscard]] std::vector<const IndexedRun *> runsAt(int row) const;
    [[nodiscard]] int rowOf(const std::string &run) const; ///< -1: not shown
    [[nodiscard]] const IndexedRun *find(const std::string &run) const;
    [[nodiscard]] RunIndex *index() const { return m_index.get(); }
    using QAbstractTableModel::index;
    [[nodiscard]] static int countColumn(); ///< "Runs": the number of runs in a group
    /// Columns after countColumn().
    [[nodiscard]] const std::vector<RunColumn> &invented() const { return m_invented; }
    /// A column's description; null for countColumn() and beyond the last.
    [[nodiscard]] const RunColumn *columnAt(int column) const;
    [[nodiscard]] int columnOf(std::string_view key) const; ///< -1: none

    /// Edits the name (EditRole): emits `renameAsked` and changes nothing itself.
    bool setData(const QModelIndex &index, const QVariant &value, int role = Qt::EditRole) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex &index) const override;
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

Q_SIGNALS:
    void renameAsked(const QString &run, const QString &name);

protected:
    [[nodiscard]] QVariant rowData(const RunRow &row, int role) const override;

private:
    [[nodiscard]] const RunGroup &groupOf(const RunRow &row) const { return m_groups[std::size_t(row.group)]; }
    [[nodiscard]] std::vector<const IndexedRun *> runsOf(const RunRow &row) const;
    [[nodiscard]] RunRows rowsOf(const std::vector<IndexedRun> &runs, const std::vector<int> &sorted) const;
    /// Changes to other rows and, if given, to other runs.
    void show(RunRows rows, std::vector<IndexedRun> *runs);
    void addInvented(const std::vector<IndexedRun> &runs);
    [[nodiscard]] TableColumn<RunRow> tableColumn(const RunColumn &column) const;
    [[nodiscard]] TableColumn<RunRow> countTableColumn() const;
    [[nodiscard]] TableCell groupCell(const RunColumn &column, const std::vector<int> &which) const;
    [[nodiscard]] static TableCell runCell(const RunColumn &column, const IndexedRun &run);

    std::unique_ptr<RunIndex> m_index;
    std::vector<IndexedRun> m_runs; ///< newest first
    std::vector<RunColumn> m_invented;
    std::vector<int> m_sorted; ///< all runs in the requested order
    std::vector<RunGroup> m_groups;
    int m_matched = 0;
    RunFilter m_filter;
    RunOrder m_order;
    bool m_grouped = false;
    std::set<std::string> m_open;
};

} // namespace lockstep::core
