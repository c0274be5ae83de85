#pragma once
#include <QAbstractTableModel>
#include <QList>
#include <QPointF>

#include "models/run_set.h"

namespace lockstep::core {

/// Loss curves: a row per run. Points come by points(); the table part is legend and last value.
class CurveModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Label, Method, Points, LastLoss, State, ColumnCount };
    enum class XAxis { Step, Epoch, Wall, RunTime }; ///< step; epochs done; Unix seconds; seconds since the first step
    explicit CurveModel(RunSet *runs, QObject *parent = nullptr);
    [[nodiscard]] RunSet *runs() const { return m_runs; }

    /// Windows of about 100 ms, all ranks together; not decimated (analysis/decimate.h).
    [[nodiscard]] QList<QPointF> points(int row, XAxis axis) const;
    /// One exact point an epoch.
    [[nodiscard]] QList<QPointF> epochPoints(int row, XAxis axis) const;

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    RunSet *m_runs;
};

} // namespace lockstep::core
