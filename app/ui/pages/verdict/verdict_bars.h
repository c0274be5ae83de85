// SPDX-License-Identifier: MIT
#pragma once
// Converts a result table to the bars of Verdict's charts.
#include <QList>

#include "analysis/compare/result_table.h"
#include "app/ui/charts/bar_chart.h"

namespace lockstep::ui {

/// Speed-up of the total training time of each measured and each published run.
[[nodiscard]] QList<BarData> speedUpBars(const core::ResultTable &table);
/// Test accuracy in percent, where known; with published figures, or only ours.
[[nodiscard]] QList<BarData> accuracyBars(const core::ResultTable &table, bool published);

} // namespace lockstep::ui
