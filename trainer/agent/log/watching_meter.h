// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ipc/frames.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

/// Adds up over a run what viewers and the agent used, and how long the ranks' threads waited for a core.
class WatchingMeter {
public:
    /// `sample` as it goes into the log; `queueOwners` are the processes that own the run's queue. Reads the ranks'
    /// threads once a second.
    void take(const DeviceFrame &sample, const std::vector<pid_t> &queueOwners);
    /// Absent until the first sample.
    [[nodiscard]] std::optional<Watching> total() const { return m_total; }

private:
    void addOwners(const std::vector<pid_t> &owners);
    void addWaiting(const std::vector<ProcessSample> &ranks);

    std::optional<Watching> m_total;
    double m_sinceReadingS = 0;
    std::map<pid_t, double> m_ownersCpuS;                ///< as last read
    std::map<std::pair<pid_t, pid_t>, double> m_waitedS; ///< by process and thread, as last read
};

} // namespace lockstep::agent
