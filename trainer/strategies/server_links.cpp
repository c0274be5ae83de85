// SPDX-License-Identifier: MIT
#include "trainer/strategies/server_links.h"

#include <pthread.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

ShareMessenger::Work ShareMessenger::send(ShareMessage &message, int to, Direction direction) {
    const std::lock_guard lock(m_mutex);
    return m_group->send(message.tensors(), to, direction);
}

ShareMessenger::Work ShareMessenger::receive(ShareMessage &message, int from, Direction direction) {
    const std::lock_guard lock(m_mutex);
    return m_group->recv(message.tensors(), from, direction);
}

ServerLinks::ServerLinks(ParameterServer &server, ShareMessenger &messenger, Ranks ranks)
    : m_server(server), m_messenger(messenger), m_waiting(static_cast<std::size_t>(ranks.count)) {
    for (int rank = 0; rank < ranks.count; ++rank) {
        if (rank == ranks.own)
            continue;
        m_threads.emplace_back([this, rank] { serve(rank); });
        pthread_setname_np(m_threads.back().native_handle(), ("server-" + std::to_string(rank)).c_str());
    }
}

ServerLinks::~ServerLinks() {
    if (m_threads.empty())
        return;
    m_server.fail(std::make_exception_ptr(std::runtime_error("the rank of the server has failed")));
    {
        const std::lock_guard lock(m_mutex);
        m_broken = true;
        for (const auto &work : m_waiting)
            if (work)
                work->abort();
    }
    join();
}

void ServerLinks::join() {
    for (std::thread &thread : m_threads)
        thread.join();
    m_threads.clear();
}

void ServerLinks::serve(int rank) {
    const c10::AutoGradMode noGrad(false); // the mode belongs to the thread
    const torch::Tensor parameters = m_server.parameters();
    ShareMessage in({parameters.numel()}, parameters.scalar_type()),
        out({parameters.numel()}, parameters.scalar_type());
    try {
        for (bool leaves = false; !leaves;) {
            wait(m_messenger.receive(in, rank, ShareMessenger::ToServer), rank);
            leaves = in.header().kind == ShareHeader::Leaving;
            if (leaves)
                out.header().wantStop = m_server.leave(rank, out.content()) ? 1 : 0;
            else
                out.header().update = m_server.update(rank, in.content(),
                                                      {in.header().wantStop != 0, in.header().lrShare}, out.content());
            wait(m_messenger.send(out, rank, ShareMessenger::ToRank), rank);
        }
    } catch (...) {
        m_server.fail(std::current_exception()); // the training thread meets it at its next exchange
    }
}

/// Waits in such a way that the destructor can break it off.
void ServerLinks::wait(const ShareMessenger::Work &work, int rank) {
    {
        const std::lock_guard lock(m_mutex);
        if (m_broken)
            throw std::runtime_error("the links of the server are broken");
        m_waiting[static_cast<std::size_t>(rank)] = work;
    }
    const bool done = work->wait();
    const std::lock_guard lock(m_mutex);
    m_waiting[static_cast<std::size_t>(rank)] = {};
    if (!done)
        throw std::runtime_error("the link of the server to rank " + std::to_string(rank) + " is broken");
}

} // namespace lockstep::trainer
