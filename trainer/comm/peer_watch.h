// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "ipc/error.h"

namespace lockstep::trainer {
class TrainingPosition;

/// Ends a rank that waits for one that is gone. When a peer's connection closes, Gloo fails every transfer that has not begun; one
/// that is half sent or half received waits on, for Gloo's timeout of 30 minutes (its tcp::Pair::signalException).
/// Where a connection has closed and the training thread has not moved for ten seconds since, this reports the loss. All calls from one
/// thread.
class PeerWatch {
public:
    /// Called from the watch's own thread, at most once; it must end the process, since nothing wakes the thread that waits.
    using OnLost = std::function<void(const Error &)>;
    /// `position` says whether the rank moves, and outlives this.
    PeerWatch(int rank, const TrainingPosition &position, OnLost onLost);
    ~PeerWatch();
    PeerWatch(const PeerWatch &) = delete;
    PeerWatch &operator=(const PeerWatch &) = delete;

    /// From here on every other rank is needed, so that a connection that closes is a rank lost. Looks for the connections of now.
    void arm();
    /// From here on other ranks may leave, or this one works for long by itself.
    void disarm();

private:
    using Clock = std::chrono::steady_clock;
    void run();
    [[nodiscard]] bool someClosed() const;

    const int m_rank;
    const TrainingPosition &m_position;
    const OnLost m_onLost;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_end = false, m_armed = false;
    std::map<int, ino_t> m_sockets;            ///< by descriptor, which may be another file's once it is closed
    std::optional<Clock::time_point> m_lostAt; ///< when one of them was first seen to be closed
    std::thread m_thread;                      ///< last: it uses all the others
};

} // namespace lockstep::trainer
