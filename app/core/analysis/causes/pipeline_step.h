// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::core {
class RunStore;

/// One stage of a pipeline in a mean step.
struct PipelineStage {
    std::string device;          ///< "cpu:0"
    std::vector<StageWork> work; ///< in order, in seconds since the first stage began the step
    double busyS = 0;            ///< sum of its work
    bool operator==(const PipelineStage &) const = default;
};

/// When the stages of a pipeline compute in a mean step, from the moment when the first stage begins it.
struct PipelineStep {
    std::vector<PipelineStage> stages; ///< first to last; of several pipelines, one after another
    double lengthS = 0;                ///< until the last work of any stage is done
    double idle = 0;                   ///< of all stages' time in it, 0..1: the bubble
    double balancedIdle =
        0; ///< the same of equally long stages: (S-1)/(M+S-1) of S stages a pipeline and M micro-batches
    bool operator==(const PipelineStep &) const = default;
};

/// Absent for other methods, and until every stage has reported its work.
[[nodiscard]] std::optional<PipelineStep> pipelineStep(const RunStore &store);

} // namespace lockstep::core
