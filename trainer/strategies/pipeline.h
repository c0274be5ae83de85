// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/stage_plan.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/optimizer.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/stage_timeline.h"
#include "trainer/strategies/stage_channel.h"
#include "trainer/strategies/stage_replicas.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// Model parallel: one process a device; each computes a stage, some consecutive layers of the model. A batch is cut into
/// micro-batches that pass from stage to stage, activations forward and their gradients backward, so that the stages work at the same
/// time. The gradients are those of the whole batch. CPU devices only.
///
/// With fewer stages than ranks there are several pipelines (DDP x pipeline): the first ranks are the first one. Each trains a part of the
/// batch, and the ranks of a stage average their gradients after their last backward.
///
/// Each rank trains the parameters of its own stage, which may have none; after an epoch all ranks get all parameters, for evaluation
/// and checkpoints. A wish to stop travels with the activations to the last stage, and what the last stage decides, and the loss,
/// back with the gradients.
class Pipeline final : public Strategy {
public:
    struct Options {
        int stages = 1; ///< of a pipeline; a divisor of the number of ranks
        std::int64_t microBatches = 4;
        std::string schedule = "1f1b";   ///< of stageActions()
        std::vector<int> layersPerStage; ///< empty: by the times of layers and messages, which each rank measures
        SampleSpec sample;
        std::int64_t batch = 64;       ///< samples a step of a pipeline
        std::int64_t mostTokens = 128; ///< of a text
        bool oneNode = true;           ///< all ranks have one clock
    };
    /// Gives all ranks rank 0's parameters.
    Pipeline(std::shared_ptr<Model> model, Communicator &communicator, PhaseClock &clock, const Options &options);

    StepOutcome step(const Batch &batch, bool wantStop) override;
    bool finishEpoch(Optimizer &optimizer, bool stopped) override;
    [[nodiscard]] bool trains(const std::string &parameter) const override { return stageOf(parameter) == m_stage; }
    [[nodiscard]] NamedTensors optimizerState(const Optimizer &optimizer) override;
    [[nodiscard]] bool holdsWholeModel() const override { return m_stages == 1; }
    [[nodiscard]] torch::Tensor gradientNorm(const Optimizer &optimizer) override;
    [[nodiscard]] bool takesInputs() const override { return isFirst() || m_texts; }
    [[nodiscard]] bool countsSamples() const override { return isFirst(); }
    [[nodiscard]] std::vector<std::size_t> stageLayers() const override;
    [[nodiscard]] std::vector<StepMetric> measured() const override;
    [[nodiscard]] std::optional<CommFrame> takeComm() override;

private:
    /// One micro-batch of a step in this stage.
    struct Micro {
        std::int64_t first = 0, samples = 0;
        torch::Tensor input, output;
    };
    void shareOutLayers(const Options &options);
    void openChannels(const std::vector<torch::Tensor> &samples);
    void cut(const Batch &batch);
    void expect(std::size_t number);
    void forward(std::size_t number, const Batch &batch);
    void computed(Phase phase, std::size_t number, std::int64_t startNs);
    [[nodiscard]] torch::Tensor lossOf(const Micro &micro, const Batch &batch);
    void backward(std::size_t number);
    void averageGradients();
    [[nodiscard]] StageMessage &await(StageChannel &channel, std::size_t number);
    void send(StageChannel &channel, std::size_t number, const torch::Tensor &content, bool wantStop);
    [[nodiscard]] bool isFirst() const { return m_stage == 0; }
    [[nodiscard]] bool isLast() const { return m_stage + 1 == m_stages; }
    [[nodiscard]] int stageOf(const std::string &parameter) const;
    [[nodiscard]] NamedTensors parametersOf(int stage) const;

    std::shared_ptr<Model> m_model;
    Communicator &m_communicator;
    PhaseClock &m_clock;
    int m_stages, m_stage;
    std::optional<StageReplicas> m_replicas; ///< of several pipelines
    std::int64_t m_microBatches;
    std::string m_schedule;
    bool m_oneNode, m_texts;
    std::int64_t m_length = 0;         ///< of the step's texts, in tokens; 0: it has none
    std::vector<std::size_t> m_begins; ///< of each stage, in layers; one past the last layer
    std::size_t m_slots = 1;           ///< micro-batches whose activations exist at the same time
    std::unique_ptr<StageChannel> m_fromBefore, m_toNext, m_fromNext, m_toBefore; ///< none at the ends of the pipeline
    std::vector<Micro> m_micro;                                                   ///< of the step
    bool m_wantStop = false, m_stop = false;    ///< of the step: so far some stage wants to; all do
    double m_loss = 0;                          ///< of the step
    std::int64_t m_computeNs = 0, m_idleNs = 0; ///< of the step
    std::int64_t m_beginNs = 0;                 ///< of the step, in the first stage
    std::int64_t m_steps = 0;                   ///< since the last frame
    StageTimeline m_timeline;
};

} // namespace lockstep::trainer
