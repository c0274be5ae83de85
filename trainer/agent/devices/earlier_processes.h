// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

namespace lockstep::agent {

/// Children of this process that it has not started: those of a shell that became this program by exec. Neither they nor their
/// descendants are the run's. A descendant is found while its parent lives, or later if it is in this process's group, where no
/// rank is; one that is found stays known when its parent ends. All calls on the main thread.
class EarlierProcesses {
public:
    /// Notes the children that there are, but for `own`, which this process has started. Call it before a rank starts.
    void note(pid_t own);
    /// The children of this process now, without the noted ones and their descendants.
    [[nodiscard]] std::vector<pid_t> laterChildren();
    /// This process and all its descendants, without those.
    [[nodiscard]] std::vector<pid_t> laterTree();

    /// The noted ones that live, and their descendants, as the last of the calls above found them; in no order.
    [[nodiscard]] std::vector<pid_t> noted() const;

private:
    void look();
    bool add(pid_t pid);

    std::map<pid_t, std::uint64_t> m_startTicks; ///< from the machine's boot, by process: a pid may be used again
    bool m_any = false;
};

} // namespace lockstep::agent
