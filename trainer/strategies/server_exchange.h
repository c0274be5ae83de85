// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace lockstep::trainer {

/// Sums `buffer` up over the ranks in place, as a synchronous parameter server does it. Rank 0 is the server: every other rank
/// sends it its K bytes, it adds them in rank order, so that the sum is the same each time, and sends the sum back. Its one link
/// carries 2(N-1)K; each link of a ring carries 2(N-1)/N·K. `arriving`: of the same shape, used by the server.
/// Waits; throws what c10d throws.
void sumThroughServer(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag);

/// The same on a thread of its own, while backward continues. CPU tensors only.
class ServerExchange {
public:
    explicit ServerExchange(c10::intrusive_ptr<c10d::ProcessGroup> group);
    ~ServerExchange(); ///< waits for the requested sums
    ServerExchange(const ServerExchange &) = delete;
    ServerExchange &operator=(const ServerExchange &) = delete;

    /// One after the other; all ranks must call it in the same order. The future holds {buffer}, or what c10d threw.
    [[nodiscard]] c10::intrusive_ptr<c10::ivalue::Future> sum(const at::Tensor &buffer);

private:
    struct Task {
        at::Tensor buffer;
        c10::intrusive_ptr<c10::ivalue::Future> done;
    };
    void run();
    void exchange(const at::Tensor &buffer);

    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    at::Tensor m_arriving; ///< the server's: what one rank has sent
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Task> m_tasks;
    bool m_end = false;
    std::thread m_thread;
};

} // namespace lockstep::trainer
