// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/comm/communicator.h"
#include "trainer/report/phase_clock.h"
#include "trainer/strategies/parameter_shares.h"
#include "trainer/strategies/server_links.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// A rank of ps-async whose device only holds and updates a share of the parameters (server_devices). Its steps are those of the slowest
/// rank that trains: it waits in them, while threads of its own serve. It sees no samples.
class ServingRank final : public Strategy {
public:
    ServingRank(const Model &model, Communicator &communicator, PhaseClock &clock,
                const ParameterShares::Options &options);
    ~ServingRank() override;

    StepOutcome step(const Batch &batch, bool wantStop) override;
    void runOptimizer(Optimizer & /*optimizer*/) override {}
    StepsEnd endSteps(bool stopped) override;
    bool finishEpoch(Optimizer &optimizer, bool stopped) override;
    void takeOptimizerState(const Optimizer &optimizer) override { m_shares.takeState(optimizer); }
    [[nodiscard]] bool holdsWholeModel() const override { return false; }
    [[nodiscard]] bool takesInputs() const override { return false; }
    [[nodiscard]] bool countsSamples() const override { return false; }
    [[nodiscard]] std::optional<double> learningRateShare(const Optimizer & /*own*/) const override { return {}; }

private:
    void startEpoch();

    Communicator &m_communicator;
    PhaseClock &m_clock;
    int m_trainers;
    ParameterShares m_shares;
    ShareMessenger m_messenger;
    std::unique_ptr<ServerLinks> m_links; ///< during an epoch
    std::int64_t m_steps = 0;             ///< of this epoch
};

} // namespace lockstep::trainer
