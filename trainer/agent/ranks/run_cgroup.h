// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// A control group (cgroup v2) for the ranks of one agent: whatever they start stays in it, so one write kills them all. It
/// limits nothing. Only where this user may make one: as root, in a container of one's own, in a delegated systemd slice.
class RunCgroup {
public:
    /// Beside nothing of others: a child of the agent's own group. Absent: there can be none here.
    static std::optional<RunCgroup> make(const std::string &name);
    static std::optional<RunCgroup> open(const std::string &path); ///< one that was made; absent if `path` is empty

    [[nodiscard]] const std::string &path() const { return m_path; }
    /// For a child between fork and exec: write "0" to it to enter.
    [[nodiscard]] int entrance() const { return m_procs.get(); }
    void kill() const;   ///< everything in it
    void remove() const; ///< once it is empty; waits a moment for that

private:
    std::string m_path;
    Fd m_procs, m_kill;
};

} // namespace lockstep::agent
