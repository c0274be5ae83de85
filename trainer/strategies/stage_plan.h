// SPDX-License-Identifier: MIT
#pragma once
// How a pipeline shares out its layers and its work: pure functions.
#include <cstddef>
#include <string_view>
#include <vector>

namespace lockstep::trainer {

/// Where each stage's layers begin, and one past the last layer: stages + 1 numbers. Consecutive layers are shared out so that the
/// slowest stage takes as little time as possible; each stage has one layer at least. `seconds`: for each stage the time of every
/// layer on its device; at least as many layers as stages.
[[nodiscard]] std::vector<std::size_t> splitLayers(const std::vector<std::vector<double>> &seconds);

struct StageAction {
    enum Kind { Forward, Backward } kind;
    std::size_t microBatch;
    bool operator==(const StageAction &) const = default;
};

/// What a stage does in a step, in order. "gpipe": all forward passes, then all backward ones (Huang et al., "GPipe", 2019). "1f1b":
/// as soon as the pipeline is full, one backward after each forward, so that a stage keeps the activations of at most as many
/// micro-batches as there are stages from it on (Narayanan et al., "PipeDream", 2019). Backward passes come in the order of the
/// micro-batches in both.
[[nodiscard]] std::vector<StageAction> stageActions(std::string_view schedule, std::size_t stage, std::size_t stages,
                                                    std::size_t microBatches);

} // namespace lockstep::trainer
