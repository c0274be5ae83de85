// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <string>

#include <QList>
#include <QObject>
#include <QPointF>

#include "analysis/curves/curve.h"
#include "analysis/curves/smoother.h"
#include "models/run_set.h"

namespace lockstep::core {

/// Curves of the loss, or of a metric, of the runs in a set, by their index in it.
class RunCurves : public QObject {
public:
    /// Step; epochs done; Unix seconds; seconds of training since the first window, pauses left out.
    enum class XAxis { Step, Epoch, Wall, RunTime };
    explicit RunCurves(RunSet *runs, QObject *parent = nullptr);
    [[nodiscard]] RunSet *runs() const { return m_runs; }
    /// The metric that curve() and smoothed() return; empty: the loss.
    void setMetric(const std::string &name);
    [[nodiscard]] int windowsAPoint(int run) const { return seriesOf(run).windowsAPoint(); }

    /// Windows of about 100 ms, all ranks together. The same object as long as points are only appended; cached for one axis
    /// per run. Each call updates it.
    [[nodiscard]] std::shared_ptr<const Curve> curve(int run, XAxis axis);
    static constexpr int usualSmoothing = 60; ///< per cent
    /// The same smoothed by `weight`, from 0 (not smoothed) to below 1. The average reaches back weight ÷ (1 - weight) ÷ 400 of
    /// the curve's span, at most about a quarter of it.
    [[nodiscard]] std::shared_ptr<const Curve> smoothed(int run, XAxis axis, double weight);
    /// A run's x at a wall clock time; absent without points.
    [[nodiscard]] std::optional<double> placeOf(int run, XAxis axis, std::int64_t wallUs) const;
    /// The wall clock time at a run's x; absent without points.
    [[nodiscard]] std::optional<std::int64_t> wallUsAt(int run, XAxis axis, double x) const;
    /// One exact point per epoch.
    [[nodiscard]] QList<QPointF> epochPoints(int run, XAxis axis) const;

private:
    struct Kept {
        XAxis axis = XAxis::Step;
        int generation = -1;
        std::shared_ptr<Curve> curve, smoothed;
        double weight = 0;
        Smoother smoother;
    };
    [[nodiscard]] const LossSeries &seriesOf(int run) const;
    Kept &keep(int run, XAxis axis);
    void forgetGone();
    RunSet *m_runs;
    std::string m_metric;
    std::map<const RunStore *, Kept> m_kept;
};

} // namespace lockstep::core
