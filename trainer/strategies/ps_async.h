// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "trainer/comm/communicator.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/strategies/comm_statistics.h"
#include "trainer/strategies/giving_way.h"
#include "trainer/strategies/local_passes.h"
#include "trainer/strategies/parameter_shares.h"
#include "trainer/strategies/server_links.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// A rank that trains with asynchronous parameter servers: one process a device; the first ranks, or others that do nothing else
/// (ServingRank), each hold a share of the parameters and of the optimizer's state. After backward a rank sends each server its share of the
/// gradients and gets the new parameters, without waiting for other ranks unless a limit on staleness says so (ParameterServer). CPU
/// devices only.
///
/// Where a rank also serves, its training thread gives way to it between operations (GivingWay).
///
/// A request to stop goes to the first server, which says after which step all ranks stop. At an epoch's end all ranks wait for each
/// other and take the same parameters and the same optimizer's state.
class PsAsync final : public Strategy {
public:
    struct Options {
        ParameterShares::Options shares;
        Trace *trace = nullptr;
        int accumulate = 1; ///< parts of a batch, computed one after another
    };
    PsAsync(const std::shared_ptr<Model> &model, Communicator &communicator, PhaseClock &clock, const Options &options);
    ~PsAsync() override;

    StepOutcome step(const Batch &batch, bool wantStop) override;
    void setLrShare(double share) override { m_lrShare = share; }
    void runOptimizer(Optimizer &optimizer) override; ///< the servers have updated: only drops the gradients
    StepsEnd endSteps(bool stopped) override;
    bool finishEpoch(Optimizer &optimizer, bool stopped) override;
    void takeOptimizerState(const Optimizer &optimizer) override { m_shares.takeState(optimizer); }
    [[nodiscard]] std::vector<StepMetric> measured() const override { return {{"staleness", m_staleness}}; }
    [[nodiscard]] std::optional<double> learningRateShare(const Optimizer & /*own*/) const override { return m_share; }
    [[nodiscard]] std::optional<CommFrame> takeComm() override;

private:
    using Work = ShareMessenger::Work;
    /// The way to one server and back.
    struct Way {
        ParameterShares::Share share;
        std::unique_ptr<ShareMessage> out, in; ///< none for the rank's own server
        Work sent, received;

        [[nodiscard]] bool isOwn() const { return !out; }
    };
    void startEpoch();
    void send(Way &way, ShareHeader::Kind kind, const ParameterServer::Step &step);
    void receive(Way &way);
    [[nodiscard]] bool exchange(bool wantStop, std::int64_t backwardNs);
    [[nodiscard]] ParameterServer::Update updateOf(Way &way, bool wantStop);
    [[nodiscard]] bool leaveServers();
    [[nodiscard]] std::int64_t leavingBytes() const;

    Communicator &m_communicator;
    PhaseClock &m_clock;
    LocalPasses m_passes;
    Trace *m_trace;
    int m_trainers;
    ParameterShares m_shares;
    torch::Tensor m_flatGradients; ///< all of them, one after another
    std::vector<Way> m_ways;       ///< by server
    /// The servers in the order in which this rank waits for them: its own one first, while the others' answers come by themselves. At
    /// an epoch's end it must have left its own server before it waits for another one, where a rank may be held back that in turn
    /// is held back by this rank's server until this rank has left.
    std::vector<std::size_t> m_waitOrder;
    ShareMessenger m_messenger;
    std::shared_ptr<GivingWay> m_givingWay; ///< to this rank's server, where it has one
    std::unique_ptr<ServerLinks> m_links;   ///< of this rank's server, during an epoch
    CommStatistics m_statistics;
    std::vector<std::int64_t> m_updates; ///< by staleness, since the last takeComm()
    bool m_inEpoch = false;
    std::int64_t m_steps = 0; ///< of this epoch
    double m_lrShare = 1;     ///< of the step: what the schedule leaves
    double m_staleness = 0, m_share = 1;
};

} // namespace lockstep::trainer
