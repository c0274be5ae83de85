// SPDX-License-Identifier: MIT
#include "trainer/strategies/sum_thread.h"

#include <pthread.h>

#include <exception>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "trainer/report/trace.h"

namespace lockstep::trainer {

namespace {
constexpr int bucketTag = 13;
}

const SumWay throughServer{.name = "server",
                           .sum = [](c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving,
                                     int tag, const OnTransfer &) { sumThroughServer(group, buffer, arriving, tag); },
                           .arriving = [](std::int64_t numbers, int rank, int) { return rank == 0 ? numbers : 0; }};

const SumWay aroundRing{.name = "ring", .sum = sumAroundRing, .arriving = [](std::int64_t numbers, int, int ranks) {
                            return ringShare(numbers, ranks);
                        }};

SumThread::SumThread(c10::intrusive_ptr<c10d::ProcessGroup> group, const SumWay &way, Trace *trace)
    : m_group(std::move(group)), m_way(way), m_thread([this] { run(); }) {
    pthread_setname_np(m_thread.native_handle(), way.name);
    if (trace)
        m_onTransfer = [trace](const char *name, std::int64_t startNs, std::int64_t endNs, std::int64_t bytes) {
            trace->span(Trace::transfers, name, startNs, endNs, bytes);
        };
}

SumThread::~SumThread() {
    {
        const std::lock_guard lock(m_mutex);
        m_end = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

c10::intrusive_ptr<c10::ivalue::Future> SumThread::sum(const at::Tensor &buffer) {
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    {
        const std::lock_guard lock(m_mutex);
        m_tasks.push_back({buffer, done});
    }
    m_changed.notify_all();
    return done;
}

void SumThread::run() {
    const c10::AutoGradMode noGrad(false); // the mode belongs to the thread
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_changed.wait(lock, [this] { return m_end || !m_tasks.empty(); });
        if (m_tasks.empty())
            return;
        Task task = std::move(m_tasks.front());
        m_tasks.pop_front();
        lock.unlock();
        try {
            sumNow(task.buffer);
            task.done->markCompleted(c10::IValue(std::vector<at::Tensor>{task.buffer}));
        } catch (...) {
            task.done->setError(std::current_exception());
        }
        lock.lock();
    }
}

void SumThread::sumNow(const at::Tensor &buffer) {
    const std::int64_t numbers = m_way.arriving(buffer.numel(), m_group->getRank(), m_group->getSize());
    if (!m_arriving.defined() || m_arriving.numel() < numbers || m_arriving.dtype() != buffer.dtype())
        m_arriving = at::empty({numbers}, buffer.options());
    m_way.sum(*m_group, buffer, m_arriving.narrow(0, 0, numbers), bucketTag, m_onTransfer);
}

} // namespace lockstep::trainer
