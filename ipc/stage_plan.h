// SPDX-License-Identifier: MIT
#pragma once
// How a pipeline shares out its layers and its work, and how long its steps take then: pure functions; seconds.
#include <cstddef>
#include <string_view>
#include <vector>

namespace lockstep {

/// Where each stage's layers begin, and one past the last layer: stages + 1 numbers. Consecutive layers are shared out so that the
/// slowest stage takes as little time as possible; each stage has one layer at least. `seconds`: for each stage the time of every
/// layer on its device; at least as many layers as stages. `messages`: for each stage but the last, what it costs that stage and the
/// next one if they are cut after this layer; empty: nothing.
[[nodiscard]] std::vector<std::size_t> splitLayers(const std::vector<std::vector<double>> &seconds,
                                                   const std::vector<std::vector<double>> &messages = {});

/// What a layer takes for a micro-batch.
struct LayerTime {
    double forwardS = 0, backwardS = 0;
    [[nodiscard]] double bothS() const { return forwardS + backwardS; }
    bool operator==(const LayerTime &) const = default;
};

/// What the stages of a pipeline may be cut by.
struct CutCosts {
    /// Of each stage: every layer on its device; at least as many layers as stages.
    std::vector<std::vector<LayerTime>> layers;
    /// Of each stage but the last: a micro-batch's way to the next stage if they are cut after this layer; its gradients take as long.
    std::vector<std::vector<double>> messageS;
    /// A message is work of both stages for all its way, as on CPU devices of one machine; else they only wait for it.
    bool messagesAreWork = false;
};

/// Where each stage's layers begin, as splitLayers() gives it, but by what a step takes (playSteps()): from the cut whose slowest stage
/// is the fastest, one border at a time is moved by a layer while that makes steps shorter. With few layers two cuts may have stages that are
/// equally slow, and steps that are not equally long: what a stage waits for at a step's beginning is not in its own time.
[[nodiscard]] std::vector<std::size_t> cutLayers(std::string_view schedule, std::size_t microBatches,
                                                 const CutCosts &costs);

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

/// What a stage takes.
struct StageTimes {
    double forwardS = 0, backwardS = 0; ///< of a micro-batch
    double messageS =
        0; ///< until the next stage has a micro-batch's activations; their gradients take as long to come back
    double betweenS = 0; ///< between two steps: to update its parameters, to load the next batch
};

/// A step when many follow each other.
struct PlayedStep {
    double stepS = 0;              ///< from its beginning in the first stage to that of the next one
    std::vector<double> busyS;     ///< of each stage: what it computes in a step, without what lies between two
    std::vector<std::size_t> kept; ///< the most micro-batches that each stage holds activations of
};

/// Plays a few steps, message by message: a stage begins an action when it is free and has what the action needs, and messages of one
/// direction between two stages follow each other. `microBatches`: at least 1.
[[nodiscard]] PlayedStep playSteps(std::string_view schedule, const std::vector<StageTimes> &stages,
                                   std::size_t microBatches);

} // namespace lockstep
