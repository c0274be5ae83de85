// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QString>

#include <optional>

#include "analysis/causes/dp_anatomy.h"
#include "app/ui/charts/run_highlight.h"

namespace lockstep::ui {

/// A run, or one rank of it, and the parts of its step.
struct AnatomyRun {
    QString name; ///< "DP on 2 devices"; empty for a further rank of the run above
    QColor color;
    core::DpAnatomy anatomy;
    RunHighlight::Run whose = {};
    bool operator==(const AnatomyRun &) const = default;
};

/// A stretch of a device's row: a stage that it works in, or one in which it waits.
struct AnatomyPart {
    double startS = 0, seconds = 0; ///< within the step
    QString phase;                  ///< wire name; empty while it waits
    bool atMost = false;            ///< its own time wasn't recorded: only the slowest device's is known

    [[nodiscard]] double middleS() const { return startS + seconds / 2; }
    [[nodiscard]] QString name() const; ///< as shown in the chart
};

/// How long the device worked in a stage of all devices; absent: not recorded, or another stage.
[[nodiscard]] std::optional<double> ownTime(const core::DpDevice &device, const core::DpStage &stage);
/// A device's row from the step's beginning to its end. Consecutive waits are merged.
[[nodiscard]] QList<AnatomyPart> partsOf(const AnatomyRun &run, std::size_t device);

} // namespace lockstep::ui
