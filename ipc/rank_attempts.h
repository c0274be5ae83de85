// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>

#include "ipc/frames.h"

namespace lockstep {

/// Distinguishes ranks that make steps again, since they were restarted, from a command that trains several times in turn: there a rank has
/// said that it was done before it began anew. Give each rank's frames in order.
class RankAttempts {
public:
    void take(int rank, const StateFrame &state) {
        if (state.state == RunState::Done)
            m_ranks[rank].done = true;
    }
    /// Whether ranks were restarted before this window. All of them are, so the first one that shows it speaks for all: startOver().
    [[nodiscard]] bool makesAgain(int rank, const StepsFrame &window) {
        const OfRank &own = m_ranks[rank];
        const bool again = goesBack(window, own.reached);
        m_trainsSeveralTimes = m_trainsSeveralTimes || (again && own.done);
        return again && !m_trainsSeveralTimes;
    }
    void take(int rank, const StepsFrame &window) { m_ranks[rank].reached = window.lastStep; }
    void startOver() { *this = {}; }

private:
    struct OfRank {
        std::int64_t reached = -1; ///< step
        bool done = false;
    };
    std::map<int, OfRank> m_ranks;
    bool m_trainsSeveralTimes = false;
};

} // namespace lockstep
