// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "ipc/clock.h"
#include "ipc/error.h"
#include "ipc/line_framer.h"
#include "ipc/name_lookup.h"
#include "ipc/unix_socket.h"
#include "trainer/report/frame_queue.h"

namespace lockstep::trainer {

/// Sends a rank's frames on a thread of its own, so that training never waits for a reader. The destination is a run's
/// socket (unix:PATH), a listener on the network (tcp://HOST:PORT, with the token of LOCKSTEP_FRAMES_TOKEN), the end of
/// a file, rank-R.ndjson in a folder (a path that ends in '/' or is one), stdout (-) or nothing. Frames are numbered
/// (rseq) when they are sent. The thread also sends a heartbeat each second and reads control lines. If a run's socket
/// disappears, training goes on and frames are dropped. A listener is retried each second and sent what it lacks, from
/// the last 1 MiB of frames; its link ends with the first line that is neither control nor hello. A file that can't be written, e.g. on a
/// full disk, is retried, too: it keeps whole lines, and the frames wait.
/// send() may be called from any thread.
class FrameSender {
public:
    using OnStop = std::function<void(const std::string &by)>; ///< called on the sender's thread
    using OnTrace = std::function<void(std::int64_t steps)>;   ///< called on the sender's thread

    /// Connects, or opens the file: a regular one, no link in a folder, or /dev/null. With an empty address nothing is
    /// sent, not even heartbeats. `lookUp` is how a listener's host is looked up: only open() waits for it, for half a minute at most.
    static Result<std::unique_ptr<FrameSender>> open(const std::string &address, int rank, const Clock &clock,
                                                     OnStop onStop, NameLookup::Resolve lookUp = resolve);
    ~FrameSender(); ///< finish() with two seconds

    /// Sets the function that is called when a trace is requested; requests before that are ignored.
    void setOnTrace(OnTrace onTrace);
    /// Says where the rank is; called on the sender's thread for each heartbeat.
    void setPosition(std::function<RankPosition()> position);

    FrameSender(const FrameSender &) = delete;
    FrameSender &operator=(const FrameSender &) = delete;

    void send(FrameBody body);
    /// Sends the waiting frames, for at most `limit`, and ends the thread. Later frames are dropped.
    void finish(std::chrono::milliseconds limit);
    /// Whether frames go to a run's socket, i.e. an agent keeps the log.
    [[nodiscard]] bool toSocket() const { return m_socket; }

private:
    FrameSender(int rank, const Clock &clock, OnStop onStop);
    [[nodiscard]] Result<Fd> reachListener(const std::string &address, NameLookup::Resolve lookUp);
    void run();
    void pump(std::unique_lock<std::mutex> &lock);
    [[nodiscard]] bool writeSome();
    void waitForEvent(bool wantWrite, int timeoutMs) const;
    void readControl();
    /// Why the link ends with this line; empty: it goes on. A stranger may hold a listener's port, an agent is this user's.
    [[nodiscard]] std::string handleLine(std::string_view line);
    void sayWhereItIs();
    void lose(const std::string &why);
    void takeBackBegunLine();
    void tryAgain();
    void remember(std::uint64_t rseq, std::string line);
    void wake() const;

    int m_rank;
    const Clock &m_clock;
    OnStop m_onStop;
    OnTrace m_onTrace;                        ///< guarded by m_mutex
    std::function<RankPosition()> m_position; ///< guarded by m_mutex
    bool m_socket = false;
    Fd m_out, m_wake;
    LineFramer m_framer;
    std::string m_bytes; ///< encoded, but not accepted by the kernel yet
    std::uint64_t m_rseq = 0;
    std::int64_t m_lastSentNs = 0;

    // For a file:
    bool m_file = false;
    std::string m_begun;            ///< the part of a line whose rest is not written yet
    bool m_reportedFailure = false; ///< that it can't be written; until it can

    // For a listener on the network:
    std::string m_tcp; ///< its address; empty: another kind of destination
    std::optional<NameLookup> m_host;
    /// Recent lines with their rseq, to be sent again after a reconnection.
    std::deque<std::pair<std::uint64_t, std::string>> m_recent;
    std::size_t m_recentBytes = 0;
    // For both:
    bool m_down = false; ///< until the next try
    std::chrono::steady_clock::time_point m_nextTry;

    std::mutex m_mutex;
    FrameQueue m_queue;
    bool m_finishing = false;
    std::atomic<bool> m_lost{false};
    std::chrono::steady_clock::time_point m_deadline;
    std::thread m_thread;
};

} // namespace lockstep::trainer
