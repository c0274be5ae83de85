#pragma once
#include <memory>
#include <vector>

#include <QAbstractTableModel>

#include "store/run_index.h"

namespace lockstep::core {

/// The history, newest first. Filter and sort by a QSortFilterProxyModel on top (ValueRole).
class RunListModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Started,
        Name,
        Recipe,
        State,
        Method,
        Devices,
        Backend,
        Epochs,
        TotalTraining,
        RunTime,
        Accuracy,
        FinalLoss,
        Host,
        Experiment,
        RunId,
        ColumnCount
    };
    /// `index` may be null: an empty list.
    explicit RunListModel(std::unique_ptr<RunIndex> index, QObject *parent = nullptr);
    ~RunListModel() override;
    /// Looks at the disk; keeps rows that stay (no reset). The error is the index's.
    Result<void> refresh();
    [[nodiscard]] const IndexedRun &runAt(int row) const { return m_runs[std::size_t(row)]; }
    [[nodiscard]] RunIndex *index() const { return m_index.get(); }
    using QAbstractTableModel::index;

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    std::unique_ptr<RunIndex> m_index;
    std::vector<IndexedRun> m_runs;
};

} // namespace lockstep::core
