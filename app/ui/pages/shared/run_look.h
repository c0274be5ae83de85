// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QString>

#include <cstddef>
#include <functional>
#include <vector>

#include "app/ui/charts/run_highlight.h"

namespace lockstep::core {
class RunSet;
class RunStore;
} // namespace lockstep::core

namespace lockstep::ui {

/// How one run of the set is drawn: colour says method, line style says repeat.
struct RunLook {
    int index = 0; ///< in the RunSet
    QString name;  ///< without the repeat: "DDP on 2 devices"
    QString runId;
    QString method;
    QColor color;
    Qt::PenStyle style = Qt::SolidLine;
    int repeat = 1;
    bool shown = true;    ///< not hidden by the person
    bool foreign = false; ///< of another experiment, pinned: its name tells when it began
    /// The newest shown run of its name that has steps: named at its line's end and in lanes.
    bool latest = true;
    /// The one of its name whose mean step is drawn (analysis/causes/median_repeat.h), of those that are shown.
    bool median = false;
    int repeats = 1; ///< shown runs of its name

    [[nodiscard]] RunHighlight::Run key() const { return {runId, name}; }
};

/// Where its method stands in their table, baseline first; a script's own word behind all of them.
[[nodiscard]] std::ptrdiff_t placeOf(const RunLook &look);

using RunQuestion = std::function<bool(const core::RunStore &)>;
/// One a run of the set, in its order.
[[nodiscard]] std::vector<RunLook> runLooks(const core::RunSet &runs, const RunQuestion &isShown = {},
                                            const RunQuestion &isForeign = {});

} // namespace lockstep::ui
