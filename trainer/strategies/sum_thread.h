// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <ATen/core/ivalue.h>

#include "trainer/comm/sums.h"

namespace lockstep::trainer {

class Trace;

/// One of the ways in trainer/comm/sums.h, to sum up buckets with.
struct SumWay {
    const char *name; ///< of its thread, and of its spans in a trace
    void (*sum)(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag,
                const OnTransfer &onTransfer);
    std::int64_t (*arriving)(std::int64_t numbers, int rank, int ranks); ///< how many numbers `arriving` needs
};
extern const SumWay throughServer, aroundRing;

/// Sums buckets up over the ranks on a thread of its own, while backward continues. CPU tensors only.
class SumThread {
public:
    /// `trace` may be null; else it outlives this and gets each transfer.
    SumThread(c10::intrusive_ptr<c10d::ProcessGroup> group, const SumWay &way, Trace *trace);
    ~SumThread(); ///< waits for the requested sums
    SumThread(const SumThread &) = delete;
    SumThread &operator=(const SumThread &) = delete;

    /// One after the other; all ranks must call it in the same order. The future holds {buffer}, or what c10d threw.
    [[nodiscard]] c10::intrusive_ptr<c10::ivalue::Future> sum(const at::Tensor &buffer);
    [[nodiscard]] const char *name() const { return m_way.name; }

private:
    struct Task {
        at::Tensor buffer;
        c10::intrusive_ptr<c10::ivalue::Future> done;
    };
    void run();
    void sumNow(const at::Tensor &buffer);

    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    const SumWay &m_way;
    OnTransfer m_onTransfer;
    at::Tensor m_arriving; ///< what another rank has sent
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Task> m_tasks;
    bool m_end = false;
    std::thread m_thread;
};

} // namespace lockstep::trainer
