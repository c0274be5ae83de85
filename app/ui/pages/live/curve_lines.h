// SPDX-License-Identifier: MIT
#pragma once
// Curves of runs as lines of a chart: the same for the loss and for any metric.
#include <QList>
#include <QString>

#include <functional>
#include <optional>
#include <vector>

#include "app/ui/charts/line_data.h"
#include "app/ui/pages/shared/run_style.h"
#include "models/run_curves.h"

namespace lockstep::core {
struct Published;
struct PublishedEpoch;
} // namespace lockstep::core

namespace lockstep::ui {
class LineChart;

/// How a person wants curves drawn.
struct CurveView {
    core::RunCurves::XAxis axis = core::RunCurves::XAxis::Step;
    QString axisTitle;    ///< with its unit
    double smoothing = 0; ///< 0 to 0.99
};

[[nodiscard]] LineData lineOf(const RunStyle &style);

/// One line per shown run; a smoothed line of the newest repeat has its raw line behind it.
[[nodiscard]] QList<LineData> curveLines(core::RunCurves &curves, const std::vector<RunStyle> &styles,
                                         const CurveView &view);

/// A publication's curves, dotted; `figure`: its losses, or its epochs' durations. Runs without the figure have no line.
[[nodiscard]] QList<LineData> publishedLines(const core::Published &published,
                                             std::optional<double> core::PublishedEpoch::*figure);

/// Titles, kind and range of the axes; `epochs`: how many the runs have, for an axis of epochs.
void setCurveAxes(LineChart &chart, const CurveView &view, const QString &yTitle, double epochs);

} // namespace lockstep::ui
