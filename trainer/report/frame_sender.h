// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ipc/clock.h"
#include "ipc/error.h"
#include "ipc/line_framer.h"
#include "ipc/unix_socket.h"
#include "trainer/report/frame_queue.h"

namespace lockstep::trainer {

/// Sends a rank's frames from a thread of its own, so that training never waits for a reader: to a run's socket
/// (unix:PATH), to a listener elsewhere (tcp://HOST:PORT, with the token of LOCKSTEP_FRAMES_TOKEN), to the end of a file, to
/// rank-R.ndjson in a folder (a path that ends in '/' or is one), to stdout (-) or nowhere. Numbers them (rseq) as they
/// leave, sends a heartbeat each second, reads control lines. When a run's own socket disappears, training continues and
/// frames are dropped. A listener elsewhere is retried each second and sent what it lacks, from the last 1 MiB of frames.
/// send() may be called from any thread.
class FrameSender {
public:
    using OnStop = std::function<void(const std::string &by)>; ///< called on the sender's thread
    using OnTrace = std::function<void(std::int64_t steps)>;   ///< likewise

    /// Connects or opens. An empty address sends nowhere (no heartbeat either).
    static Result<std::unique_ptr<FrameSender>> open(const std::string &address, int rank, const Clock &clock,
                                                     OnStop onStop);
    ~FrameSender(); ///< finish() with two seconds

    /// Called when a trace is requested; nothing is called before it is set.
    void setOnTrace(OnTrace onTrace);

    FrameSender(const FrameSender &) = delete;
    FrameSender &operator=(const FrameSender &) = delete;

    void send(FrameBody body);
    /// Sends the waiting frames, for at most `limit`, and ends the thread. Later frames are dropped.
    void finish(std::chrono::milliseconds limit);
    /// Whether frames go to a run's socket (an agent keeps the log).
    [[nodiscard]] bool toSocket() const { return m_socket; }

private:
    FrameSender(int rank, const Clock &clock, OnStop onStop);
    void run();
    void pump(std::unique_lock<std::mutex> &lock);
    [[nodiscard]] bool writeSome();
    void waitForEvent(bool wantWrite, int timeoutMs) const;
    void readControl();
    void handleLine(std::string_view line);
    void lose(const std::string &why);
    void tryAgain();
    void remember(std::uint64_t rseq, std::string line);
    void wake() const;

    int m_rank;
    const Clock &m_clock;
    OnStop m_onStop;
    OnTrace m_onTrace; ///< under m_mutex
    bool m_socket = false;
    Fd m_out, m_wake;
    LineFramer m_framer;
    std::string m_bytes; ///< encoded, not yet taken by the kernel
    std::uint64_t m_rseq = 0;
    std::int64_t m_lastSentNs = 0;

    // For a listener elsewhere:
    std::string m_tcp;                                          ///< its address; empty: another kind
    std::deque<std::pair<std::uint64_t, std::string>> m_recent; ///< lines with their rseq, for when it comes back
    std::size_t m_recentBytes = 0;
    bool m_down = false;
    std::chrono::steady_clock::time_point m_nextTry;

    std::mutex m_mutex;
    FrameQueue m_queue;
    bool m_finishing = false;
    std::atomic<bool> m_lost{false};
    std::chrono::steady_clock::time_point m_deadline;
    std::thread m_thread;
};

} // namespace lockstep::trainer
