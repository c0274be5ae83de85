// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

namespace lockstep::trainer {

/// What this process's own TCP connections carry: the traffic between ranks, over Gloo or NCCL's sockets, as the kernel counts it
/// (TCP_INFO, man 7 tcp): bytes sent are those handed to the kernel, each once. Frames are not in it: they go over a Unix socket. NCCL between
/// GPUs of one machine uses no TCP. Used from one thread.
class TcpTraffic {
public:
    struct Bytes {
        std::int64_t sent = 0, received = 0;
    };
    /// Looks for the connections of now, and begins to count from here.
    void start();
    /// Carried since start(), or since the last call.
    [[nodiscard]] Bytes take();

private:
    [[nodiscard]] Bytes sum() const;

    std::vector<int> m_sockets; ///< not owned
    Bytes m_before;
};

} // namespace lockstep::trainer
