// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/types.h>

#include "trainer/comm/communicator.h"

namespace lockstep::trainer {

/// The ranks that compute the same stage in several pipelines: they average their gradients after a step, as DDP's ranks do. A wish to
/// stop travels with them. Used from the training thread; calls throw what c10d throws.
class StageReplicas {
public:
    /// Every rank of the run must call it. Rank r computes stage r % stages of pipeline r / stages. `oneClock`: all ranks run on one
    /// machine.
    StageReplicas(Communicator &communicator, int stages, bool oneClock);

    struct Outcome {
        bool stop = false;       ///< some pipeline stops: all do after this step
        std::int64_t tookNs = 0; ///< the whole exchange
        std::int64_t waitNs = 0; ///< of it, until the last of the ranks was ready; 0 without one clock
    };
    /// Gives all of the stage's ranks the mean of their gradients, in place. A parameter that has none gets one of zeros.
    /// Without parameters only the wish to stop is exchanged.
    Outcome average(const std::vector<torch::Tensor> &parameters, bool stop);

private:
    void writeReady(const torch::Tensor &tail, std::int64_t readyNs) const;
    [[nodiscard]] std::int64_t lastReady(const torch::Tensor &tail) const;

    Communicator &m_communicator;
    int m_replica, m_replicas;
    std::int64_t m_originNs = 0; ///< of all ranks' times; 0 without one clock
    c10::intrusive_ptr<c10d::Backend> m_group;
};

} // namespace lockstep::trainer
