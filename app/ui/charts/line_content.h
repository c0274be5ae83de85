// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/charts/chart_marks.h"
#include "app/ui/charts/drawn_lines.h"
#include "app/ui/charts/line_scale.h"

namespace lockstep::ui {
class RunHighlight;

/// What a LineChart shows: the same on the screen and in an export.
struct LineContent {
    QString xTitle, yTitle;
    QString emptyText; ///< in the middle while there is no point
    DrawnLines lines;
    QList<ChartMark> marks;
    LineScale scale;
    const RunHighlight *highlight = nullptr; ///< on screen alone
};

} // namespace lockstep::ui
