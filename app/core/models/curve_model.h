#pragma once
#include <map>
#include <memory>

#include <QAbstractTableModel>
#include <QList>
#include <QPointF>

#include "analysis/curve.h"
#include "analysis/smoother.h"
#include "models/run_set.h"

namespace lockstep::core {

/// Loss curves: a row per run. Points come by curve(); the table part is legend and last value.
class CurveModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Label, Method, Points, LastLoss, State, ColumnCount };
    /// Step; epochs done; Unix seconds; seconds of training since the first window, pauses left out.
    enum class XAxis { Step, Epoch, Wall, RunTime };
    explicit CurveModel(RunSet *runs, QObject *parent = nullptr);
    [[nodiscard]] RunSet *runs() const { return m_runs; }

    /// Windows of about 100 ms, all ranks together. The same object as long as points are only appended; kept for one axis
    /// a run at a time. Brought up to date by each call.
    [[nodiscard]] std::shared_ptr<const Curve> curve(int row, XAxis axis);
    /// The same smoothed by `weight`, 0 (as it is) to below 1: a hundredth of its odds of the curve's span is what the
    /// average reaches back, from nothing to about a quarter of it.
    [[nodiscard]] std::shared_ptr<const Curve> smoothed(int row, XAxis axis, double weight);
    /// Where a run stood at a wall clock time, in x; absent without points.
    [[nodiscard]] std::optional<double> placeOf(int row, XAxis axis, std::int64_t wallUs) const;
    /// When a run stood at x; absent without points.
    [[nodiscard]] std::optional<std::int64_t> wallUsAt(int row, XAxis axis, double x) const;
    /// One exact point an epoch.
    [[nodiscard]] QList<QPointF> epochPoints(int row, XAxis axis) const;

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Kept {
        XAxis axis = XAxis::Step;
        int generation = -1;
        std::shared_ptr<Curve> curve, smoothed;
        double weight = 0;
        Smoother smoother;
    };
    Kept &keep(int row, XAxis axis);
    void forgetGone();
    RunSet *m_runs;
    std::map<const RunStore *, Kept> m_kept;
};

} // namespace lockstep::core
