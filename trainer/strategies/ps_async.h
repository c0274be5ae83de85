// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/comm/communicator.h"
#include "trainer/engine/optimizer.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/strategies/comm_statistics.h"
#include "trainer/strategies/local_passes.h"
#include "trainer/strategies/server_links.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// Asynchronous parameter servers: one process a device; the first ranks each hold a share of the parameters and of the optimizer's
/// state. After backward a rank sends each server its share of the gradients and gets the new parameters, without waiting for other
/// ranks unless a limit on staleness says so (ParameterServer). CPU devices only.
///
/// A wish to stop is told to the first server, which says after which step all ranks stop. At an epoch's end all ranks wait for each
/// other and take the same parameters and the same optimizer's state.
class PsAsync final : public Strategy {
public:
    struct Options {
        int servers = 1; ///< at most as many as there are ranks
        std::int64_t maxStaleness = ParameterServer::unlimited;
        OptimizerOptions optimizer;
        Trace *trace = nullptr;
        int accumulate = 1; ///< parts of a batch, computed one after another
    };
    /// Gives all ranks rank 0's parameters.
    PsAsync(const std::shared_ptr<Model> &model, Communicator &communicator, PhaseClock &clock, const Options &options);
    ~PsAsync() override;

    StepOutcome step(const Batch &batch, bool wantStop) override;
    void setLrShare(double share) override;           ///< for a server: of its own rank's step
    void runOptimizer(Optimizer &optimizer) override; ///< the servers have updated: only drops the gradients
    bool finishEpoch(Optimizer &optimizer, bool stopped) override;
    void takeOptimizerState(const Optimizer &optimizer) override;
    [[nodiscard]] std::vector<StepMetric> measured() const override { return {{"staleness", m_staleness}}; }
    [[nodiscard]] double learningRateShare() const override { return m_share; }
    [[nodiscard]] std::optional<CommFrame> takeComm() override;

private:
    using Work = ShareMessenger::Work;
    /// One server's share of all parameters, as this rank sees it.
    struct Share {
        int server = 0;
        std::int64_t first = 0, numbers = 0;
        std::unique_ptr<ShareMessage> out, in; ///< none for the rank's own server
        Work sent, received;

        [[nodiscard]] bool isOwn() const { return !out; }
        [[nodiscard]] torch::Tensor of(const torch::Tensor &flat) const { return flat.narrow(0, first, numbers); }
    };
    void startEpoch();
    void send(Share &share, ShareHeader::Kind kind, bool wantStop);
    void receive(Share &share);
    [[nodiscard]] bool exchange(bool wantStop, std::int64_t backwardNs);
    [[nodiscard]] ParameterServer::Update updateOf(Share &share, bool wantStop);
    [[nodiscard]] bool leaveServers();
    void shareState(Optimizer &optimizer);

    Communicator &m_communicator;
    PhaseClock &m_clock;
    LocalPasses m_passes;
    Trace *m_trace;
    std::vector<std::string> m_names; ///< of the parameters
    std::vector<torch::Tensor> m_parameters;
    torch::Tensor m_flatParameters, m_flatGradients; ///< all of them, one after another
    std::vector<Share> m_shares;                     ///< by server
    ShareMessenger m_messenger;
    std::unique_ptr<ParameterServer> m_server; ///< this rank's own; none: it only trains
    std::unique_ptr<ServerLinks> m_links;      ///< of this rank's server, during an epoch
    CommStatistics m_statistics;
    std::vector<std::int64_t> m_updates; ///< by staleness, since the last takeComm()
    bool m_inEpoch = false;
    std::int64_t m_steps = 0; ///< of this epoch
    double m_staleness = 0, m_share = 1;
};

} // namespace lockstep::trainer
