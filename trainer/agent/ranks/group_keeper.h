// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// A tiny process ("lockstep-keeper") that outlives the agent by an instant. When the agent is killed, PR_SET_PDEATHSIG
/// kills the ranks, but not the processes that ranks started (e.g. loading workers). The keeper sees the agent's end of
/// a pipe close and kills the ranks' whole process groups. Start it before locks, sockets and threads exist, because it
/// must inherit none.
class GroupKeeper {
public:
    static Result<GroupKeeper> start();
    GroupKeeper(GroupKeeper &&) noexcept = default;
    GroupKeeper &operator=(GroupKeeper &&) noexcept = default;

    void add(pid_t group);
    void remove(pid_t group); ///< as soon as the group is empty, since its number may be used again
    [[nodiscard]] pid_t pid() const { return m_pid; }

private:
    GroupKeeper() = default;
    Fd m_pipe;
    pid_t m_pid = 0;
};

} // namespace lockstep::agent
