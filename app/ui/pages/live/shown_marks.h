// SPDX-License-Identifier: MIT
#pragma once
#include <QList>

#include "app/ui/charts/chart_marks.h"
#include "app/ui/pages/live/shown_runs.h"

namespace lockstep::core {
struct RunMark;
}

namespace lockstep::ui {

/// An event of a run as a mark of a chart; the caller, who knows the axis, sets x.
[[nodiscard]] ChartMark chartMark(const RunStyle &style, const core::RunMark &mark);

/// Events of the shown runs, at their positions on an axis of their curves.
[[nodiscard]] QList<ChartMark> shownMarks(const ShownRuns &shown, core::RunCurves::XAxis axis);

} // namespace lockstep::ui
