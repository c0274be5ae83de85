// SPDX-License-Identifier: MIT
#include "trainer/comm/peer_watch.h"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "trainer/report/tcp_sockets.h"
#include "trainer/report/training_position.h"

namespace lockstep::trainer {
namespace {

using namespace std::chrono_literals;
constexpr auto often = 1s, patience = 10s;

std::optional<ino_t> socketAt(int descriptor) {
    struct stat file {};
    return ::fstat(descriptor, &file) == 0 && S_ISSOCK(file.st_mode) ? std::optional(file.st_ino) : std::nullopt;
}

} // namespace

PeerWatch::PeerWatch(int rank, const TrainingPosition &position, OnLost onLost)
    : m_rank(rank), m_position(position), m_onLost(std::move(onLost)), m_thread([this] { run(); }) {
    pthread_setname_np(m_thread.native_handle(), "peer-watch");
}

PeerWatch::~PeerWatch() {
    {
        const std::lock_guard lock(m_mutex);
        m_end = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

void PeerWatch::arm() {
    const std::lock_guard lock(m_mutex);
    for (const int descriptor : ownTcpSockets())
        if (const auto socket = socketAt(descriptor))
            m_sockets.emplace(descriptor, *socket);
    m_armed = true;
}

void PeerWatch::disarm() {
    const std::lock_guard lock(m_mutex);
    m_armed = false;
}

bool PeerWatch::someClosed() const {
    return std::ranges::any_of(m_sockets, [](const auto &known) { return socketAt(known.first) != known.second; });
}

void PeerWatch::run() {
    std::unique_lock lock(m_mutex);
    while (!m_changed.wait_for(lock, often, [this] { return m_end; })) {
        if (!m_armed)
            continue;
        if (!m_lostAt && someClosed())
            m_lostAt = Clock::now();
        const auto stillS = m_position.position().sinceS;
        if (!m_lostAt || Clock::now() - *m_lostAt < patience ||
            stillS.value_or(0) < std::chrono::duration<double>(patience).count())
            continue;
        return m_onLost(Error::failed("rank " + std::to_string(m_rank) +
                                          " lost the connection to another rank, and has waited for it for " +
                                          std::to_string(patience.count()) + " s",
                                      "see what the other ranks say"));
    }
}

} // namespace lockstep::trainer
