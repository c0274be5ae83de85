// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <torch/types.h>

#include "trainer/engine/optimizer.h"

namespace lockstep::trainer {

/// A share of the parameters in one vector, with its optimizer: it updates them with each rank's gradients as they come. Several
/// threads use it, one a rank.
///
/// Each update counts as one version. An update with the gradients of k of N ranks takes k/N of the learning rate and their mean, so
/// that as many samples move the parameters about as far as in a step of all ranks together. Of a schedule it takes what that leaves the
/// steps whose gradients they are, in the mean.
///
/// Staleness of an update: the versions between the one its rank had read and the one it changes. With a limit S, gradients wait at
/// the server while an update would leave some rank that still computes more than S versions behind; those that wait are then used
/// in one update. So S = 0 is the synchronous server. The limit is on how old the parameters are that gradients were computed with;
/// unlike that of "stale synchronous parallel" (Ho et al., NIPS 2013) it is not on how many steps a rank is ahead of another.
class ParameterServer {
public:
    static constexpr std::int64_t unlimited = -1;
    static constexpr const char *shareName = "share"; ///< of its parameters, in the state of its optimizer
    /// `parameters`: its own copy, one-dimensional.
    ParameterServer(torch::Tensor parameters, const OptimizerOptions &optimizer, int ranks, std::int64_t maxStaleness);

    struct Update {
        std::int64_t staleness = 0;
        std::int64_t heldNs = 0;     ///< how long the limit on staleness held the gradients back
        std::int64_t joined = 1;     ///< ranks whose gradients went into the same update
        std::int64_t stopAfter = -1; ///< steps of this epoch after which all ranks stop; -1: none wants to
        double lrShare = 1;          ///< part of the learning rate that the schedule left it
    };
    /// What a rank says of a step besides its gradients.
    struct Step {
        bool wantStop = false;
        double lrShare = 1; ///< part of the learning rate that the schedule leaves the step
    };
    /// An epoch begins: every rank holds the parameters of now and has taken no step.
    void startEpoch();
    /// A rank's gradients of its next step. Returns once they are used; `into` then holds the new parameters.
    /// Throws what fail() was given.
    Update update(int rank, const torch::Tensor &gradients, const Step &step, torch::Tensor into);
    /// The rank sends no more gradients in this epoch. Returns once that is true of all ranks: `into` then holds the epoch's last
    /// parameters. Whether any rank wanted to stop. Throws what fail() was given.
    bool leave(int rank, torch::Tensor into);
    /// For a process that only serves. Returns once every rank has begun more steps than that, or has left; whether any goes on, or
    /// has taken more steps. Throws what fail() was given.
    bool waitBeyond(std::int64_t steps, bool wantStop);
    /// Whether any rank wanted to stop. Throws what fail() was given.
    [[nodiscard]] bool stopWanted();
    /// Whoever waits, or calls later, gets this exception.
    void fail(std::exception_ptr why);

    /// Grows with each message that it begins or has dealt with; for any thread.
    [[nodiscard]] std::shared_ptr<const std::atomic<std::int64_t>> handled() const { return m_handled; }

    /// Between two epochs only.
    [[nodiscard]] torch::Tensor parameters() const { return m_parameters; }
    [[nodiscard]] Optimizer &optimizer() { return m_optimizer; }

private:
    enum class Doing { Computes, Waits, Left };
    struct Rank {
        Doing doing = Doing::Computes;
        std::int64_t read = 0; ///< the version it computes with
        std::int64_t steps = 0, arrivedNs = 0;
        double lrShare = 1; ///< of the gradients that wait
        torch::Tensor gradients;
        Update last;
    };
    void updateIfAllowed();
    void noteWish();
    void throwIfFailed() const;

    torch::Tensor m_parameters;
    Optimizer m_optimizer;
    std::int64_t m_maxStaleness;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<Rank> m_ranks;
    std::int64_t m_version = 0, m_stopAfter = -1;
    std::exception_ptr m_failure;
    std::shared_ptr<std::atomic<std::int64_t>> m_handled = std::make_shared<std::atomic<std::int64_t>>(0);
};

} // namespace lockstep::trainer
