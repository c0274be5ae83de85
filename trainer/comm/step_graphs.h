// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>

namespace lockstep::trainer {

/// The GPU work of a step as CUDA graphs, one per phase, so that phases can still be timed between them. `Input` is
/// used with --loader device only. The graphs share one memory pool, so they must be launched in the order in which
/// they were recorded. Use it from the training thread.
class StepGraphs {
public:
    enum Part { Input, Forward, Backward, Optimize };
    static constexpr std::size_t parts = 4;
    virtual ~StepGraphs() = default;
    /// Records what `work` enqueues on the calling thread's current stream, without running it. That stream must not be
    /// the default one. Tensors that `work` creates have no content before launch(). Run such work once before, so that
    /// libraries are initialised. Throws what torch or `work` throws.
    virtual void record(Part part, const std::function<void()> &work) = 0;
    /// Enqueues what was recorded on the current stream. It uses the same memory addresses.
    virtual void launch(Part part) = 0;
};

/// Makes graphs for the current device. Throws if there is no CUDA (trainer/comm/gpus.cpp loads it).
[[nodiscard]] std::unique_ptr<StepGraphs> makeStepGraphs();

} // namespace lockstep::trainer
