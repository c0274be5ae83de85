// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>

namespace lockstep::trainer {

/// A step's work on a GPU as CUDA graphs, one per phase (Input: with --loader device only), so that phases are still timed between
/// them. They share one memory pool, so they must be launched in the order in which they were recorded. Used from the training thread.
class StepGraphs {
public:
    enum Part { Input, Forward, Backward, Optimize };
    static constexpr std::size_t parts = 4;
    virtual ~StepGraphs() = default;
    /// Records what `work` puts into the calling thread's current stream, which must not be the default one, without
    /// running it: tensors that it makes hold nothing before launch(). Such work must have run before, so that libraries
    /// are set up. Throws what torch throws and what `work` throws.
    virtual void record(Part part, const std::function<void()> &work) = 0;
    /// Puts what was recorded into the current stream, on the same addresses.
    virtual void launch(Part part) = 0;
};

/// Of the current device. Throws when there is no CUDA (trainer/comm/gpus.cpp loads it).
[[nodiscard]] std::unique_ptr<StepGraphs> makeStepGraphs();

} // namespace lockstep::trainer
