// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>

#include "ipc/unix_socket.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// How a process ended: by one of the two.
struct ProcessExit {
    std::optional<int> code, signal;
    [[nodiscard]] bool good() const { return code == 0; }
};

/// "SIGKILL"; "signal 77" for one without a name.
[[nodiscard]] std::string signalName(int signal);
/// SIGTERM, SIGINT and SIGHUP, which end what an agent does: blocked in main, read from a signalfd.
[[nodiscard]] sigset_t endingSignals();

/// One rank's process: a group of its own, pinned, dead when the agent dies. Passive: it never waits.
/// Spawn only from the agent's main thread: PR_SET_PDEATHSIG fires when the spawning *thread* ends.
class RankProcess {
public:
    /// `listener`: a descriptor the process inherits, or -1. Returns after exec has succeeded; a command that can't be
    /// run is a BadArgument error and leaves nothing behind.
    static Result<RankProcess> spawn(const RankPlan &plan, int listener);

    [[nodiscard]] pid_t pid() const { return m_pid; }
    [[nodiscard]] int pidFd() const { return m_pidFd.get(); } ///< readable when it has ended
    [[nodiscard]] Fd takeStdout() { return std::move(m_stdout); }
    [[nodiscard]] Fd takeStderr() { return std::move(m_stderr); }

    void signal(int number) const; ///< to the rank alone
    void killGroup() const;        ///< SIGKILL to it and all it started
    /// Once it has ended: kills what is left of its group, reaps it, tells how. Nothing while it lives.
    std::optional<ProcessExit> reap();
    [[nodiscard]] bool reaped() const { return m_reaped; }

private:
    RankProcess() = default;
    pid_t m_pid = 0;
    bool m_reaped = false;
    Fd m_pidFd, m_stdout, m_stderr;
};

} // namespace lockstep::agent
