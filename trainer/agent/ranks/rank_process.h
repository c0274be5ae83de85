// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>

#include "ipc/unix_socket.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// How a process ended: either with a code or by a signal. Neither: it has ended, and nobody can say how.
struct ProcessExit {
    std::optional<int> code, signal;
    [[nodiscard]] bool good() const { return code == 0; }
};

/// "SIGKILL"; "signal 77" for one without a name.
[[nodiscard]] std::string signalName(int signal);
/// SIGTERM, SIGINT and SIGHUP, which end an agent, without SIGINT or SIGHUP if the agent was started with it ignored (nohup, a shell's
/// job in the background). They are blocked in main and read from a signalfd, which would deliver an ignored one, too.
[[nodiscard]] sigset_t endingSignals();

/// The process of one rank: it has a process group of its own, is pinned to cores, and dies with the agent. Never
/// waits. Spawn only from the agent's main thread: PR_SET_PDEATHSIG fires when the spawning *thread* ends.
class RankProcess {
public:
    /// `listener` is a descriptor that the process inherits, or -1. Returns after exec has succeeded. A command that
    /// cannot be run is a BadArgument error and leaves nothing behind.
    static Result<RankProcess> spawn(const RankPlan &plan, int listener, int cgroup = -1);

    [[nodiscard]] pid_t pid() const { return m_pid; }
    [[nodiscard]] int pidFd() const { return m_pidFd.get(); } ///< readable when the process has ended
    [[nodiscard]] Fd takeStdout() { return std::move(m_stdout); }
    [[nodiscard]] Fd takeStderr() { return std::move(m_stderr); }

    void signal(int number) const;      ///< to the rank's process only
    void signalGroup(int number) const; ///< to what is left of its group, while reap() has not succeeded
    void killGroup() const;             ///< SIGKILL to the process, wherever it went, and to its group
    [[nodiscard]] bool ended() const;   ///< it may still have to be reaped
    /// Whether processes of its group go on once it has ended: what a shell had started, say. They are this process's children then, if it
    /// is their subreaper.
    [[nodiscard]] bool hasLeftOthers() const;
    /// If the process has ended: kills what is left of its group, reaps it and returns how it ended. Absent while it
    /// runs.
    std::optional<ProcessExit> reap();
    [[nodiscard]] bool reaped() const { return m_reaped; }

private:
    RankProcess() = default;
    pid_t m_pid = 0;
    bool m_reaped = false;
    Fd m_pidFd, m_stdout, m_stderr;
};

} // namespace lockstep::agent
