// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// fp32 buffers of one rank, allocated once for the largest size, so that no measured block includes allocation.
struct LabBuffers {
    torch::Tensor input, output, scratch;
    torch::Tensor work; ///< for work(); larger than the core's private caches
    LabBuffers(std::int64_t largestBytes, int worldSize, c10::Device device);
};

/// The rank with which rank 0 exchanges messages: the first one of another node, else rank 1. From every rank's number on its node.
[[nodiscard]] int partnerOfRank0(const std::vector<int> &localRanks);
/// Whether the operation is between rank 0 and its partner alone.
[[nodiscard]] bool isPointToPoint(std::string_view collective);

/// One collective by its name (collectiveNames()) and size. Every rank must run all of them. `bytes` follows
/// nccl-tests' rule (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md): the larger of a rank's input and output.
/// `partner`: of rank 0, in point to point. Throws what c10d throws.
class Exchange {
public:
    Exchange(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> group, LabBuffers &buffers, std::int64_t bytes,
             int partner);

    [[nodiscard]] std::int64_t bytes() const { return m_count * 4; } ///< the measured size: rounded up to whole shares
    /// Runs the operation once on this rank. For send_recv a run is a whole ping-pong, which counts as two operations.
    void run();
    [[nodiscard]] int operationsPerRun() const { return m_name == "send_recv" ? 2 : 1; }
    /// Whether this rank has anything to do in it.
    [[nodiscard]] bool takesPart() const;
    /// Computes for one or two milliseconds on this rank alone.
    void work();
    [[nodiscard]] bool comesAfterWork() const { return m_afterWork; }
    /// Runs the operation on a known pattern and checks every number of the result. The error says what is wrong.
    [[nodiscard]] Result<void> verify();
    /// Fills the buffers with numbers that do not overflow, however often the operation is repeated.
    void clear();

private:
    void sendReceive();
    [[nodiscard]] int peer() const { return m_rank == 0 ? m_partner : 0; }
    [[nodiscard]] torch::Tensor expected() const;
    [[nodiscard]] torch::Tensor result() const;
    void fill();

    std::string m_name; ///< without afterWork
    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    int m_rank, m_size, m_partner;
    bool m_afterWork;
    std::int64_t m_count, m_share; ///< how many numbers in all, and in one rank's share
    torch::Tensor m_input, m_output, m_scratch, m_work;
};

/// Why this backend does not offer the operation on such a device (PyTorch's table of backends,
/// docs/stable/distributed.html). Absent if it does.
[[nodiscard]] std::optional<std::string> whyNotOffered(const std::string &collective, const std::string &backend,
                                                       bool onGpu);

/// Bus bandwidth = algorithm bandwidth × this factor (nccl-tests' doc/PERFORMANCE.md): the traffic of each link,
/// whatever the number of ranks.
[[nodiscard]] double busFactor(const std::string &collective, int worldSize);

} // namespace lockstep::trainer
