// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Buffers of one rank, made once for the largest size, so that no block pays for fresh memory. fp32.
struct LabBuffers {
    torch::Tensor input, output, scratch;
    torch::Tensor work; ///< what work() reads and writes; larger than the caches near the core
    LabBuffers(std::int64_t largestBytes, int worldSize, c10::Device device);
};

/// One operation of `bytes` by name (collectiveNames()); every rank makes all operations. `bytes` follows nccl-tests' rule
/// (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md): the larger of a rank's input and output.
/// Throws what c10d throws.
class Exchange {
public:
    Exchange(std::string name, c10::intrusive_ptr<c10d::ProcessGroup> group, LabBuffers &buffers, std::int64_t bytes);

    [[nodiscard]] std::int64_t bytes() const { return m_count * 4; } ///< as measured: rounded up to whole shares
    /// Runs it once on this rank. A send_recv is one direction of a ping-pong; a call sends there and back, which is two of them.
    void run();
    [[nodiscard]] int operationsPerRun() const { return m_name == "send_recv" ? 2 : 1; }
    /// A millisecond or two of a rank's own work.
    void work();
    [[nodiscard]] bool comesAfterWork() const { return m_afterWork; }
    /// Runs it over a pattern and checks every number of the result. The error names what is wrong.
    [[nodiscard]] Result<void> verify();
    /// Fills the buffers with numbers that do not overflow, however often the operation is repeated.
    void clear();

private:
    void sendReceive();
    void passOn(std::vector<torch::Tensor> &leaving, int to, std::vector<torch::Tensor> &arriving, int from);
    void ring();
    void server();
    [[nodiscard]] torch::Tensor expected() const;
    [[nodiscard]] torch::Tensor result() const;
    void fill();

    std::string m_name;
    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    int m_rank, m_size;
    bool m_afterWork;
    std::int64_t m_count, m_share; ///< numbers in all, and of one rank's share
    torch::Tensor m_input, m_output, m_scratch, m_work;
};

/// Why this backend does not offer the operation there (PyTorch's table of backends, docs/stable/distributed.html); absent: it does.
[[nodiscard]] std::optional<std::string> whyNotOffered(const std::string &collective, const std::string &backend,
                                                       bool onGpu);

/// busbw = algbw × this (nccl-tests' doc/PERFORMANCE.md): what each link carries, whatever the number of ranks.
[[nodiscard]] double busFactor(const std::string &collective, int worldSize);

} // namespace lockstep::trainer
