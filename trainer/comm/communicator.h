// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/types.h>

#include "trainer/comm/backends.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/report/training_position.h"

namespace lockstep::trainer {

/// Communication between the ranks of a run. Numbers on the host are sent over Gloo, whichever backend carries the
/// gradients. With one rank and no store (baseline, DP) all calls return at once. Calls throw what c10d throws. Every
/// rank must make the same calls in the same order, from one thread.
class Communicator {
public:
    /// A world of one rank.
    Communicator() = default;
    Communicator(RankEnvironment env, c10::intrusive_ptr<c10d::Store> store);

    [[nodiscard]] int rank() const { return m_env.rank; }
    [[nodiscard]] int worldSize() const { return m_env.worldSize; }

    /// Connects the backends. `backend` is gloo or nccl; nccl uses the interface of `place`, where it names one.
    void connect(const std::string &backend, c10::Device device, const GlooPlace &place);
    /// Null when alone or before connect().
    [[nodiscard]] const c10::intrusive_ptr<c10d::ProcessGroup> &group() const { return m_group; }

    /// Every rank's text, in rank order, through the store; works before connect(). `key` is used once.
    [[nodiscard]] std::vector<std::string> exchange(const std::string &key, const std::string &text);
    /// Every rank's numbers, in rank order (the same count on each).
    [[nodiscard]] std::vector<std::vector<double>> gather(const std::vector<double> &own);
    /// Every rank's bytes, in rank order (the same size on each).
    [[nodiscard]] std::vector<torch::Tensor> gatherBytes(const torch::Tensor &own);
    [[nodiscard]] std::vector<double> sum(std::vector<double> own);
    /// Gives all ranks rank 0's values of these tensors, in place, as torch's DistributedDataParallel does. connect() comes first.
    void broadcast(const std::vector<torch::Tensor> &tensors);
    /// Gives all ranks the numbers of `root`, in place.
    void broadcastFrom(int root, torch::Tensor tensor);
    void barrier();
    /// Gloo between some of the ranks, of which this one is the `rank`-th of `size`. `name` is the group's alone, and all of its ranks
    /// must call it. connect() comes first.
    [[nodiscard]] c10::intrusive_ptr<c10d::Backend> makeGroup(const std::string &name, int rank, int size);
    /// Call it before an exit that every rank decides on by itself from exchanged data. Rank 0 serves the store, so it
    /// waits to leave last; otherwise the others would report a lost rank. Takes at most 3 s.
    void part();
    /// The last call, on all ranks: closes the backends in order. NCCL's destructor alone would abort what other ranks
    /// still do.
    void leave();

    /// Whether any rank's device is a GPU; valid after connect(). Use this, not the own device, for what all ranks must
    /// do alike.
    [[nodiscard]] bool someOnGpu() const { return m_someOnGpu; }

    /// When the last collective ended here (CLOCK_MONOTONIC): a point in time that is nearly the same on all ranks.
    [[nodiscard]] std::int64_t lastEndNs() const { return m_lastEndNs; }
    void setLastEndNs(std::int64_t ns) { m_lastEndNs = ns; }

    /// Where every collective is noted, those of others too that use group(); it outlives this.
    void setPosition(TrainingPosition *position) { m_position = position; }
    [[nodiscard]] TrainingPosition *position() const { return m_position; }

private:
    void allReduce(torch::Tensor tensor);

    RankEnvironment m_env;
    c10::intrusive_ptr<c10d::Store> m_store;
    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    GlooPlace m_place;
    bool m_someOnGpu = false;
    std::int64_t m_lastEndNs = 0;
    TrainingPosition *m_position = nullptr;
};

} // namespace lockstep::trainer
