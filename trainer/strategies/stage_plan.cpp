// SPDX-License-Identifier: MIT
#include "trainer/strategies/stage_plan.h"

#include <algorithm>
#include <limits>

namespace lockstep::trainer {

std::vector<std::size_t> splitLayers(const std::vector<std::vector<double>> &seconds) {
    const std::size_t stages = seconds.size(), layers = seconds.front().size();
    // slowest[s][n]: the least possible time of the slowest of s stages that hold the first n layers; cut[s][n]: where the last of
    // them then begins.
    std::vector<std::vector<double>> slowest(stages + 1,
                                             std::vector<double>(layers + 1, std::numeric_limits<double>::infinity()));
    std::vector<std::vector<std::size_t>> cut(stages + 1, std::vector<std::size_t>(layers + 1, 0));
    slowest[0][0] = 0;
    for (std::size_t s = 1; s <= stages; ++s)
        for (std::size_t n = s; n <= layers; ++n) {
            double last = 0;
            for (std::size_t from = n; from-- > s - 1;) {
                last += seconds[s - 1][from];
                const double time = std::max(slowest[s - 1][from], last);
                if (time < slowest[s][n]) {
                    slowest[s][n] = time;
                    cut[s][n] = from;
                }
            }
        }
    std::vector<std::size_t> begins(stages + 1, layers);
    for (std::size_t s = stages; s > 0; --s)
        begins[s - 1] = cut[s][begins[s]];
    return begins;
}

std::vector<StageAction> stageActions(std::string_view schedule, std::size_t stage, std::size_t stages,
                                      std::size_t microBatches) {
    const std::size_t ahead = schedule == "gpipe" ? microBatches : std::min(microBatches, 2 * (stages - stage - 1));
    std::vector<StageAction> actions;
    std::size_t forward = 0, backward = 0;
    while (forward < ahead)
        actions.push_back({StageAction::Forward, forward++});
    while (forward < microBatches) {
        actions.push_back({StageAction::Forward, forward++});
        actions.push_back({StageAction::Backward, backward++});
    }
    while (backward < microBatches)
        actions.push_back({StageAction::Backward, backward++});
    return actions;
}

} // namespace lockstep::trainer
