// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "trainer/engine/optimizer.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/strategies/compute_device.h"
#include "trainer/strategies/device_thread.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// Data parallel as torch's DataParallel: one process, one thread a device; scatter → replicate → parallel forward →
/// gather → loss on device 0 → parallel backward → gradients reduced on device 0. The calling thread is device 0's.
///
/// Autograd runs CPU nodes on the thread that calls backward, so each device's thread runs its own, from its part of the
/// gathered output's gradient.
class Dp final : public Strategy {
public:
    struct Options {
        std::vector<ComputeDevice> devices;                  ///< the first holds the model
        std::function<std::shared_ptr<Model>()> makeReplica; ///< same shape and precision, any parameters
        bool persistent = false; ///< replicas keep their parameters and step them themselves, each with its optimizer
        OptimizerOptions optimizer;
        std::uint64_t seed = 1; ///< replica r > 0 draws from seed + r, as DDP's rank r does; replica 0 as the baseline
        Trace *trace = nullptr;
    };
    Dp(std::shared_ptr<Model> model, PhaseClock &clock, Options options);
    ~Dp() override;

    StepOutcome step(const Batch &batch, bool wantStop) override;
    void runOptimizer(Optimizer &optimizer) override;
    void takeOptimizerState(const Optimizer &optimizer) override;
    [[nodiscard]] std::vector<std::int64_t> replicaBatch() const override { return m_replicaBatch; }
    [[nodiscard]] std::vector<at::Generator> generators() const override;
    [[nodiscard]] std::span<const StepTimes> deviceTimes() const override { return m_deviceTimes; }

private:
    struct Replica {
        ComputeDevice place;
        std::shared_ptr<Model> model;
        std::vector<torch::Tensor> parameters;
        torch::Tensor flat; ///< all parameters, one after another, each in the order in which it lies in memory
        std::unique_ptr<Optimizer> optimizer;
        std::unique_ptr<DeviceThread> thread; ///< none for device 0
        at::Generator generator;              ///< none for device 0: the process's default one
        torch::Tensor input, output;
    };
    void addReplica(const ComputeDevice &place, std::shared_ptr<Model> model, const Options &options);
    void scatter(const torch::Tensor &inputs);
    void replicate(std::size_t used);
    void gather(std::size_t used);
    void reduce(std::size_t used);
    void giveGradients();
    /// Runs the task for the first `used` replicas, each on its thread, and waits. Each stamps its own time in `phase`.
    void inParallel(std::size_t used, Phase phase, const std::function<void(Replica &)> &task);

    PhaseClock &m_clock;
    Trace *m_trace;
    std::vector<StepTimes> m_deviceTimes; ///< of CPU devices: a GPU's work ends later than the host's call
    bool m_persistent;
    bool m_copied = false; ///< persistent: replicas hold the model's parameters
    std::vector<Replica> m_replicas;
    torch::Tensor m_gathered;
    std::vector<std::int64_t> m_replicaBatch;
};

/// Samples each of `replicas` takes of a batch, as torch's scatter cuts it; fewer entries when the batch is too small.
[[nodiscard]] std::vector<std::int64_t> scatterSizes(std::int64_t batch, int replicas);

} // namespace lockstep::trainer
