// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ipc/error.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/ranks/run_cgroup.h"

namespace lockstep::agent {

/// A tiny process ("lockstep-keeper") that outlives the agent by an instant. When the agent is killed, PR_SET_PDEATHSIG
/// kills the ranks, but nothing that they started. The keeper sees the agent's end of a pipe close. It then kills the ranks'
/// process groups, and whatever has left them (setsid): by the run's control group where there can be one, and by a mark in
/// the environment that every rank passes on. Start it before locks, sockets and threads exist, because it must inherit none.
class GroupKeeper {
public:
    static constexpr const char *markName = "LOCKSTEP_KEEPER"; ///< in the environment of ranks

    static Result<GroupKeeper> start();
    GroupKeeper(GroupKeeper &&) noexcept = default;
    GroupKeeper &operator=(GroupKeeper &&) = delete;
    ~GroupKeeper(); ///< the agent ends by itself and has left nothing behind

    void add(pid_t group);
    void remove(pid_t group);                  ///< as soon as the group is empty, since its number may be used again
    void removeLater(const std::string &path); ///< a file that nobody needs once the agent was killed
    void killStrays();                         ///< now, whatever the ranks have left behind; no rank must run

    [[nodiscard]] pid_t pid() const { return m_pid; }
    [[nodiscard]] int pidFd() const { return m_pidFd.get(); } ///< readable when the keeper has died
    Result<void> startAgain();                                ///< after that
    [[nodiscard]] const std::string &mark() const { return m_mark; }
    [[nodiscard]] int cgroupEntrance() const { return m_cgroup ? m_cgroup->entrance() : -1; } ///< -1: none

private:
    GroupKeeper() = default;
    Result<void> fork();
    void send(const std::string &word) const;

    std::string m_mark;
    std::optional<RunCgroup> m_cgroup;
    std::set<pid_t> m_groups;
    std::set<std::string> m_files;
    Fd m_pipe, m_pidFd;
    pid_t m_pid = 0;
};

/// Kills every process whose environment has LOCKSTEP_KEEPER=mark, until there is none but this one and the keepers of other agents.
void killMarked(std::string_view mark);

} // namespace lockstep::agent
