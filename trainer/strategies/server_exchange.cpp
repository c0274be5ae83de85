// SPDX-License-Identifier: MIT
#include "trainer/strategies/server_exchange.h"

#include <pthread.h>

#include <exception>
#include <utility>
#include <vector>

#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

namespace {
constexpr int serverTag = 13;
}

void sumThroughServer(c10d::ProcessGroup &group, const at::Tensor &buffer, const at::Tensor &arriving, int tag) {
    std::vector<at::Tensor> own{buffer}, theirs{arriving};
    if (group.getRank() != 0) {
        group.send(own, 0, tag)->wait();
        group.recv(own, 0, tag)->wait();
        return;
    }
    for (int from = 1; from < group.getSize(); ++from) {
        group.recv(theirs, from, tag)->wait();
        buffer.add_(arriving);
    }
    std::vector<c10::intrusive_ptr<c10d::Work>> sends;
    for (int to = 1; to < group.getSize(); ++to)
        sends.push_back(group.send(own, to, tag));
    for (const auto &send : sends)
        send->wait();
}

ServerExchange::ServerExchange(c10::intrusive_ptr<c10d::ProcessGroup> group)
    : m_group(std::move(group)), m_thread([this] { run(); }) {
    pthread_setname_np(m_thread.native_handle(), "server");
}

ServerExchange::~ServerExchange() {
    {
        const std::lock_guard lock(m_mutex);
        m_end = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

c10::intrusive_ptr<c10::ivalue::Future> ServerExchange::sum(const at::Tensor &buffer) {
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    {
        const std::lock_guard lock(m_mutex);
        m_tasks.push_back({buffer, done});
    }
    m_changed.notify_all();
    return done;
}

void ServerExchange::run() {
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
            exchange(task.buffer);
            task.done->markCompleted(c10::IValue(std::vector<at::Tensor>{task.buffer}));
        } catch (...) {
            task.done->setError(std::current_exception());
        }
        lock.lock();
    }
}

void ServerExchange::exchange(const at::Tensor &buffer) {
    const bool server = m_group->getRank() == 0;
    if (server &&
        (!m_arriving.defined() || m_arriving.numel() < buffer.numel() || m_arriving.dtype() != buffer.dtype()))
        m_arriving = at::empty_like(buffer);
    sumThroughServer(*m_group, buffer, server ? m_arriving.narrow(0, 0, buffer.numel()) : at::Tensor(), serverTag);
}

} // namespace lockstep::trainer
