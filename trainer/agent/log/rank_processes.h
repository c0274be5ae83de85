// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/frames.h"

namespace lockstep::agent {

/// Which process each rank is. One that takes the place of another counts its frames from 0 again, which are no repetitions then.
class RankProcesses {
public:
    enum class Is { First, Same, Another };
    /// A process has said hello. `identity` says who it is as far as a connection shows: its pid, and its host.
    Is greet(int rank, const std::string &identity);
    /// Whether this line of the rank begins the frames of another process that says it is the same one: a container's process is number 1
    /// whenever it is started again, and a script that executes itself keeps its number. Give each line, in order.
    bool beginsAnother(int rank, std::string_view line);
    [[nodiscard]] std::vector<int> ranks() const; ///< those that have said hello
    void forget() { m_processes.clear(); }

private:
    struct Process {
        std::string identity;                ///< its hash: a hello may name a host at any length
        std::optional<std::int64_t> begunNs; ///< when it sent its first frame
        bool silent = true;                  ///< it has sent nothing since its hello
    };
    Decoder m_decoder;
    std::map<int, Process> m_processes;
};

} // namespace lockstep::agent
