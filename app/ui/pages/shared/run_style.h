// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QString>

#include <cstddef>
#include <functional>
#include <tuple>
#include <vector>

#include "app/ui/charts/run_highlight.h"

namespace lockstep::core {
class RunSet;
class RunStore;
} // namespace lockstep::core

namespace lockstep::ui {

/// How one run of the set is drawn: the colour stands for its method, the line style for its repeat.
struct RunStyle {
    int index = 0; ///< in the RunSet
    QString name;  ///< without the repeat: "DDP on 2 devices"
    QString runId;
    QString method;
    QColor color;
    Qt::PenStyle penStyle = Qt::SolidLine;
    int repeat = 1;
    int namePlace = 0;    ///< of its name among those of its method, in the order in which they came
    bool shown = true;    ///< not hidden by the person
    bool foreign = false; ///< of another experiment, pinned: its name contains when it began
    /// The newest shown run of its name that has steps: named at its line's end and in lanes.
    bool latest = true;
    /// The one of its name whose mean step is drawn (analysis/causes/median_repeat.h), of those that are shown.
    bool median = false;
    int repeats = 1; ///< shown runs of its name

    [[nodiscard]] RunHighlight::Run key() const { return {runId, name}; }
};

/// Sorts runs: methods in their table's order, baseline first and those that a script invented last; the names of each as they came,
/// repeats together; pinned runs of other experiments after all.
using RunPlace = std::tuple<bool, std::ptrdiff_t, int, int>;
[[nodiscard]] RunPlace placeOf(const RunStyle &style);

using RunQuestion = std::function<bool(const core::RunStore &)>;
/// One per run of the set, in its order.
[[nodiscard]] std::vector<RunStyle> runStyles(const core::RunSet &runs, const RunQuestion &isShown = {},
                                              const RunQuestion &isForeign = {});

} // namespace lockstep::ui
