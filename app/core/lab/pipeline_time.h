// SPDX-License-Identifier: MIT
#pragma once
// What a step of a pipeline takes: pure functions; seconds, bytes.
//
// A device's forward and backward time for a micro-batch, measured by probes of as many devices side by side as the pipeline has, is
// shared out among the stages in proportion to their layers' times; the layers are cut as a run cuts them (ipc/stage_plan.h), by these
// times and those of messages. What a probe spends on loading falls to the first stage once a step, and updating to each stage by its
// parameters. Messages take what the lab's send_recv_after_work takes for a stage's activations, else its send_recv; those to another node
// what it takes between nodes. Steps with these times
// are played (playSteps()).
// On CPU devices of one machine a message is both stages' own work for as long as it takes; the interval reaches down to messages that
// only have to be waited for.
// Of several pipelines, a stage's replicas average their gradients after each step by an all-reduce that hides behind nothing.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/stage_plan.h"
#include "lab/cost_model.h"
#include "lab/device_time.h"

namespace lockstep::core {

/// What a layer of the model costs a stage of a pipeline.
struct LayerCost {
    /// By the samples of a batch; they count beside the other layers' only.
    std::map<std::int64_t, LayerTime> timesAt = {};
    double outputBytesPerSample = 0; ///< that it passes on
    double parameterBytes = 0;
    bool operator==(const LayerCost &) const = default;
    /// At the nearest number of samples that was measured.
    [[nodiscard]] LayerTime time(std::int64_t samples) const;
};

struct PipelinePlan {
    int stages = 1, pipelines = 1;
    std::int64_t microBatches = 1; ///< of a step, in each pipeline
    std::int64_t samples = 1;      ///< of a micro-batch
    std::string schedule;          ///< of stageActions()
    std::vector<int> stageLayers;  ///< layers of each stage; empty: by their times
    bool ownCores = false;         ///< messages take the ranks' own cores
    std::vector<bool> leavesNode;  ///< of each stage but the last: its messages go to another node; empty: none do
};

/// `micro`: of a device for a micro-batch; `loadingS`: of a batch. As many layers as stages at least. Absent: the lab measured no messages.
[[nodiscard]] std::optional<StepTime> pipelineTime(const std::vector<LayerCost> &layers, const PipelinePlan &plan,
                                                   const DeviceTime &micro, double loadingS,
                                                   const CommunicationModel &communication);

} // namespace lockstep::core
