// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ipc/clock.h"
#include "ipc/error.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/net/event_loop.h"

namespace lockstep::agent {

/// How long a run was paused, in a file that its ranks read (resources/python/lockstep/clock.py): nanoseconds, 8 bytes in the machine's
/// order. It is written while they are paused, so none reads half of a change, and never mapped: ranks may cut it short.
class PausedTime {
public:
    static constexpr const char *variable = "LOCKSTEP_PAUSED"; ///< in the ranks' environment: the file's path

    static Result<PausedTime> create(const std::string &path);
    PausedTime(PausedTime &&other) noexcept;
    PausedTime &operator=(PausedTime &&) = delete;
    ~PausedTime(); ///< removes the file

    [[nodiscard]] const std::string &path() const { return m_path; }
    void add(std::int64_t ns); ///< what can't be written now is written with the next pause
    [[nodiscard]] std::int64_t totalNs() const { return m_totalNs; }
    /// Whether each pause was written at its end; else the ranks have counted one as time of training.
    [[nodiscard]] bool wroteAll() const { return m_wroteAll; }

private:
    PausedTime() = default;
    bool write() const;
    std::string m_path;
    Fd m_fd;
    std::int64_t m_totalNs = 0;
    bool m_wroteAll = true;
};

/// Runs that take turns on the same cores, each for a tenth of a second, so that a machine whose speed changes changes all of them alike.
/// Whose turn it is says a lock on the first byte of a file that their agents share; who is next, one on the second. The kernel gives
/// them up however an agent dies. A run that is alone goes on without a pause. All calls on the loop's thread.
class Turns {
public:
    static constexpr std::chrono::milliseconds turn{100};

    struct Handlers {
        std::function<void()> pause; ///< stops the ranks
        std::function<void()> goOn;
    };
    /// `file` is created if need be, and removed by the last one. Nothing is paused yet.
    static Result<std::unique_ptr<Turns>> join(EventLoop &loop, const Clock &clock, const std::string &file,
                                               PausedTime &paused, Handlers handlers);
    ~Turns(); ///< the others go on

    void begin(); ///< the ranks run: pauses them until it is their turn
    /// Whether the file was removed during one of this run's turns, or can't be made again: another run may have gone on meanwhile.
    [[nodiscard]] bool lost() const { return m_lost; }

private:
    Turns(EventLoop &loop, const Clock &clock, std::string file, PausedTime &paused, Handlers handlers);
    Result<void> open();
    [[nodiscard]] bool takes();
    [[nodiscard]] bool anyWaits() const;
    void wait();
    void goOn();
    void give();

    EventLoop &m_loop;
    const Clock &m_clock;
    std::string m_file;
    PausedTime &m_paused;
    Handlers m_handlers;
    Fd m_fd;
    bool m_next = false, m_lost = false;
    std::int64_t m_pausedSinceNs = 0;
    EventLoop::Token m_turnTimer = 0, m_waitTimer = 0;
};

} // namespace lockstep::agent
