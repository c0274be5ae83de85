// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "trainer/comm/communicator.h"
#include "trainer/engine/optimizer.h"
#include "trainer/models/model.h"
#include "trainer/strategies/parameter_server.h"

namespace lockstep::trainer {

/// A model's parameters in one vector, shared out among servers, as a rank of ps-async holds them; and this rank's own server, if it is one.
class ParameterShares {
public:
    struct Options {
        int servers = 1;     ///< how many shares
        int firstServer = 0; ///< the rank of the first one; that of the next one holds the next share
        int trainers = 1;    ///< ranks that train, from 0 on
        std::int64_t maxStaleness = ParameterServer::unlimited;
        OptimizerOptions optimizer;
    };
    struct Share {
        int rank = 0; ///< its server's
        std::int64_t first = 0, numbers = 0;
        [[nodiscard]] torch::Tensor of(const torch::Tensor &flat) const { return flat.narrow(0, first, numbers); }
    };
    /// Gives all ranks rank 0's parameters.
    ParameterShares(const Model &model, Communicator &communicator, const Options &options);

    [[nodiscard]] const std::vector<Share> &shares() const { return m_shares; }
    [[nodiscard]] const std::vector<torch::Tensor> &parameters() const { return m_parameters; } ///< the model's
    [[nodiscard]] const torch::Tensor &flat() const { return m_flat; }       ///< in the model's order
    [[nodiscard]] ParameterServer *server() const { return m_server.get(); } ///< none: this rank only trains
    void toModel() const;                                                    ///< copies flat() into the parameters

    /// All ranks have left the servers, and those that trained hold the epoch's last parameters: now all ranks do, and the state of the
    /// servers' optimizers, for checkpoints and for a rollback. `stopped`: as the first server says, if this rank knows; true on all ranks
    /// if it is. Every rank must call it.
    [[nodiscard]] bool endEpoch(Optimizer &optimizer, bool stopped);
    /// After the parameters and the optimizer's state were loaded (resume, rollback): takes the servers' from there.
    void takeState(const Optimizer &optimizer);

private:
    void shareState(Optimizer &optimizer);

    Communicator &m_communicator;
    bool m_apart; ///< the servers' ranks don't train
    std::vector<std::string> m_names;
    std::vector<torch::Tensor> m_parameters;
    torch::Tensor m_flat;
    std::vector<Share> m_shares;
    std::unique_ptr<ParameterServer> m_server;
};

} // namespace lockstep::trainer
