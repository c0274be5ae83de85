// SPDX-License-Identifier: MIT
#pragma once
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
    };
    /// `length`: of the run so far; it says where earlier epochs have ended.
    Numbered take(int rank, const StepsFrame &reported, const RunLength &length);

private:
    struct OfRank {
        std::int64_t reached = 0, shift = 0; ///< `reached` as the rank counts
    };
    std::map<int, OfRank> m_ranks; ///< those with a window since all ranks were started last
};

} // namespace lockstep::core
