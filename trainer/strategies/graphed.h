// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include "trainer/comm/step_graphs.h"
#include "trainer/report/phase_clock.h"
#include "trainer/strategies/baseline.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// How one step of `--cuda-graph` is executed.
enum class StepWay {
    Eager,  ///< operation by operation, as without graphs
    Record, ///< recorded, and what was recorded is launched
    Launch  ///< launched as recorded
};
/// Graphs hold one shape of batch: `samples` of `fullBatch`, none of them a padded duplicate. The first such batches are
/// real steps without graphs; they set up libraries and the optimizer's state.
[[nodiscard]] StepWay wayOf(std::int64_t samples, std::int64_t real, std::int64_t fullBatch, std::int64_t eagerSteps,
                            bool recorded);
inline constexpr std::int64_t eagerStepsBeforeGraph = 3;

/// One device, whose steps are launched as CUDA graphs: a small network's step costs the host three launches, or
/// four with --loader device, instead of some sixty. The learning rate is part of the recording: nothing changes it during a run.
///
/// On a GPU, permanently switches the calling thread from the default stream to another one: work can be recorded
/// only there, and with all of training in one stream nothing waits for another stream.
class Graphed final : public Strategy {
public:
    Graphed(std::shared_ptr<Model> model, PhaseClock &clock, std::unique_ptr<StepGraphs> graphs,
            std::int64_t fullBatch);
    void makeOnDevice(Batch &batch) override;
    void bring(Batch &batch, c10::Device device, bool nonBlocking) override;
    StepOutcome step(const Batch &batch, bool wantStop) override;
    void runOptimizer(Optimizer &optimizer) override;

private:
    [[nodiscard]] StepWay wayOf(const Batch &batch) const;
    void takeInput(const Batch &batch, bool nonBlocking);

    std::shared_ptr<Model> m_model;
    PhaseClock &m_clock;
    std::unique_ptr<StepGraphs> m_graphs;
    std::int64_t m_fullBatch, m_eagerSteps = 0;
    Baseline m_eager;
    StepWay m_way = StepWay::Eager; ///< of the step under way
    bool m_recorded = false;
    torch::Tensor m_terms, m_inputs, m_targets, m_loss; ///< at the addresses that the graphs know
    std::vector<torch::Tensor> m_gradients; ///< likewise; kept, so that later recordings do not reuse their memory
};

} // namespace lockstep::trainer
