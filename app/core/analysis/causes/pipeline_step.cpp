// SPDX-License-Identifier: MIT
#include "analysis/causes/pipeline_step.h"

#include <algorithm>

#include "ipc/methods.h"
#include "store/run_store.h"

namespace lockstep::core {

std::optional<PipelineStep> pipelineStep(const RunStore &store) {
    const auto &ranks = store.stages().ofRanks();
    const std::vector<std::string> names = store.devices().names();
    if (!store.record() || !store.record()->config || ranks.empty() || ranks.size() != names.size())
        return std::nullopt;
    PipelineStep out;
    double busyS = 0;
    std::size_t microBatches = 0;
    for (const auto &[rank, work] : ranks) {
        PipelineStage &stage = out.stages.emplace_back();
        stage.device = names[out.stages.size() - 1];
        stage.work = work;
        for (const StageWork &one : work) {
            stage.busyS += one.endS - one.startS;
            out.lengthS = std::max(out.lengthS, one.endS);
        }
        busyS += stage.busyS;
        microBatches = work.size() / 2;
    }
    if (!(out.lengthS > 0))
        return std::nullopt;
    out.idle = std::clamp(1 - busyS / (double(out.stages.size()) * out.lengthS), 0.0, 1.0);
    const int stages = stageCount(*store.record()->config, int(out.stages.size()));
    out.balancedIdle = bubbleOf(stages, int(microBatches));
    return out;
}

} // namespace lockstep::core
