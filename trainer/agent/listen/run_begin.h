// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>

namespace lockstep::agent {

/// When a run began that somebody else started, on this machine's monotonic clock, from the frames of its ranks. They may be on other
/// machines, and their first frames may come late: to a listener that was started after them, or again. A frame arrives after it was
/// made, so the least difference of the two times over a process's frames is the best bound of how far its clock is from this one.
class RunBegin {
public:
    explicit RunBegin(std::int64_t arrivedNs) : m_ns(arrivedNs) {} ///< when the first frame of all came
    /// `madeNs`: the frame's mono_ns, 0 if it says none; `arrivedNs`: when it came, by this machine's clock. Each process's in the order of its frames.
    void take(int rank, std::int64_t madeNs, std::int64_t arrivedNs) {
        if (madeNs == 0)
            return;
        const std::int64_t apartNs = arrivedNs - madeNs;
        Process &process = m_processes.try_emplace(rank, Process{madeNs, apartNs}).first->second;
        process.apartNs = std::min(process.apartNs, apartNs);
        m_ns = std::min(m_ns, process.firstNs + process.apartNs);
    }
    void startOver(int rank) { m_processes.erase(rank); } ///< another process is this rank now
    [[nodiscard]] std::int64_t ns() const { return m_ns; }

private:
    struct Process {
        std::int64_t firstNs; ///< its first frame, by its own clock
        std::int64_t apartNs; ///< from its clock to this machine's
    };
    std::int64_t m_ns;
    std::map<int, Process> m_processes;
};

} // namespace lockstep::agent
