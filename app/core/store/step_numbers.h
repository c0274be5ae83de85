// SPDX-License-Identifier: MIT
#pragma once
#include <climits>
#include <cstdint>
#include <map>

#include "ipc/frames.h"
#include "store/run_length.h"

namespace lockstep::core {

/// Numbers steps from 0 over the whole run. After a restart lockstep-trainer goes on counting from its checkpoint; a script
/// counts from 0 again, though it may go on with a later epoch.
class StepNumbers {
public:
    struct Numbered {
        std::int64_t shift = 0; ///< to add to the frame's steps
        bool again = false;     ///< ranks were restarted: this is the first window since
        bool alone = false;     ///< makesAgainAlone(): the window counts for nothing
    };
    /// `length`: of the run so far; it says where earlier epochs have ended. `node`: the rank's.
    Numbered take(int rank, const StepsFrame &reported, const RunLength &length, int node = 0);
    /// All ranks are started again: a rank of any node may be the first that shows it.
    void startOver() { m_startsOver = true; }
    /// A rank of a further node makes steps again, though all ranks would be restarted together and no rank of the first node shows it.
    [[nodiscard]] bool makesAgainAlone(int rank) const;

private:
    struct OfRank {
        std::int64_t reached = 0, shift = 0; ///< `reached` as the rank counts
        bool alone = false;
    };
    std::map<int, OfRank> m_ranks; ///< those with a window since all ranks were started last
    int m_firstNode = INT_MAX;     ///< of those whose ranks are heard
    bool m_startsOver = false;
};

} // namespace lockstep::core
