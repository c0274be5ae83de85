// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Generator.h>
#include <torch/types.h>

#include "ipc/frames.h"
#include "ipc/straggler_detector.h"
#include "trainer/data/loader.h"
#include "trainer/engine/optimizer.h"
#include "trainer/models/model.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/step_metric.h"

namespace lockstep::trainer {

struct StepOutcome {
    torch::Tensor loss; ///< mean over the batch's real samples, detached, on the device
    bool stop = false;  ///< some rank wants to stop: all ranks see it after the same step
};

struct StepsEnd {
    bool stop = false; ///< as StepOutcome's
    /// What this rank sent only to end the steps; it received as much. They are of no step.
    std::int64_t bytes = 0;
};

/// Computes the gradients of one step. Records its phases: forward, backward, exposed and their parts.
/// Used from the training thread.
class Strategy {
public:
    virtual ~Strategy() = default;

    /// --loader device: inputs and targets of the batch's terms, on the device.
    virtual void makeOnDevice(Batch &batch);
    /// Brings a batch from the host to the (first) device; `nonBlocking`: without waiting for the copy.
    virtual void bring(Batch &batch, c10::Device device, bool nonBlocking);
    /// From a batch on the (first) device to gradients, averaged over all devices, in the model's parameters. With a server that
    /// updates the parameters (ps-async): to this rank's own gradients, and to new parameters.
    virtual StepOutcome step(const Batch &batch, bool wantStop) = 0;
    /// Before a step: the part of the learning rate that the schedule leaves it, for a server that updates the parameters in step().
    virtual void setLrShare(double) {}
    /// Steps the optimizer of the model's parameters and updates copies of them.
    virtual void runOptimizer(Optimizer &optimizer);
    /// After an epoch's last step, or the step that `stopped` it: from here on this rank sends and receives nothing more for a step.
    /// Every rank must call it, then finishEpoch().
    virtual StepsEnd endSteps(bool stopped) { return {stopped, 0}; }
    /// From here on all ranks hold the same parameters and the same optimizer's state. `stopped`: what endSteps() said. Every rank must
    /// call it; returns whether all of them stop.
    virtual bool finishEpoch(Optimizer &, bool stopped) { return stopped; }
    /// After the parameters and the optimizer's state were loaded (resume, rollback).
    virtual void takeOptimizerState(const Optimizer &) {}

    /// Whether this rank's optimizer updates the parameter of that name.
    [[nodiscard]] virtual bool trains(const std::string & /*parameter*/) const { return true; }
    /// The state of the optimizer of all parameters, for checkpoints. Every rank must call it.
    [[nodiscard]] virtual NamedTensors optimizerState(const Optimizer &optimizer);
    /// Whether this rank computes the whole model, and so has all gradients after a step.
    [[nodiscard]] virtual bool holdsWholeModel() const { return true; }
    /// After a step: the length of all gradients as one vector, one element on the parameters' device. Every rank must call it.
    [[nodiscard]] virtual torch::Tensor gradientNorm(const Optimizer &optimizer) { return optimizer.gradientNorm(); }
    /// Whether step() uses a batch's inputs, or its targets alone.
    [[nodiscard]] virtual bool takesInputs() const { return true; }
    /// Whether this rank's samples and losses count; otherwise another rank counts the same ones.
    [[nodiscard]] virtual bool countsSamples() const { return true; }

    /// How many layers each stage computes, from the first one on (pipeline); empty elsewhere.
    [[nodiscard]] virtual std::vector<std::size_t> stageLayers() const { return {}; }
    /// Samples each replica took in the last step (DP); empty elsewhere.
    [[nodiscard]] virtual std::vector<std::int64_t> replicaBatch() const { return {}; }
    /// Each device's own times in the parallel parts of the last step (DP), in the order of the devices; empty where they
    /// are not known.
    [[nodiscard]] virtual std::span<const StepTimes> deviceTimes() const { return {}; }
    /// Parameters by bucket as the next step reduces them, for checkpoints: "4,3;2,1,0". Every rank must call it.
    [[nodiscard]] virtual std::string bucketOrder() { return {}; }
    /// The random generators besides the process's default ones, for checkpoints: the same ones in the same order in
    /// each run of a config.
    [[nodiscard]] virtual std::vector<at::Generator> generators() const { return {}; }
    /// Every rank's own times of the last step, the same numbers on all ranks; empty where they are not known.
    [[nodiscard]] virtual std::span<const OwnTimes> ownTimes() const { return {}; }
    /// What was measured in the last step besides times, by the names in ipc/metrics.h.
    [[nodiscard]] virtual std::vector<StepMetric> measured() const { return {}; }
    /// The part of the learning rate that the last step's update used; none on a rank whose steps are no updates. `optimizer`: that of
    /// the model's parameters.
    [[nodiscard]] virtual std::optional<double> learningRateShare(const Optimizer &optimizer) const {
        return optimizer.lrShare();
    }
    /// What communication did since the last call; nothing where there is none. Its steps are counted from 0: on GPUs the
    /// newest ones are not known yet and come with the next call.
    [[nodiscard]] virtual std::optional<CommFrame> takeComm() { return {}; }
};

/// Cross-entropy, mean over the batch.
[[nodiscard]] torch::Tensor crossEntropy(const torch::Tensor &logits, const torch::Tensor &targets);

/// The loss that is reported: without the sampler's padded duplicates. Usually the training loss itself.
[[nodiscard]] torch::Tensor reportedLoss(const torch::Tensor &loss, const torch::Tensor &logits, const Batch &batch);

} // namespace lockstep::trainer
