// SPDX-License-Identifier: MIT
#pragma once
// A result table as Verdict's bar charts show it.
#include <QList>

#include "analysis/compare/result_table.h"
#include "app/ui/charts/bar_chart.h"

namespace lockstep::ui {

/// Speed-up of the total training time of each run that ran, and of each published one.
[[nodiscard]] QList<BarData> speedUpBars(const core::ResultTable &table);
/// Test accuracy in percent, where there is one; the published ones too, or ours alone.
[[nodiscard]] QList<BarData> accuracyBars(const core::ResultTable &table, bool published);

} // namespace lockstep::ui
