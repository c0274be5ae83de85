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
/// as soon as the pipeline is full, one backward after each forward (Narayanan et al., "PipeDream", 2019). A stage begins with two forward
/// passes for each stage after it, one of them so that the next stage has its input before it needs it: otherwise each message's
/// way there and back would hold both up in every micro-batch. So a stage keeps the activations of at most 2n + 1 micro-batches, with n
/// stages after it. Backward passes come in the order of the micro-batches in both.
[[nodiscard]] std::vector<StageAction> stageActions(std::string_view schedule, std::size_t stage, std::size_t stages,
                                                    std::size_t microBatches);

} // namespace lockstep::trainer
