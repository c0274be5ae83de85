// SPDX-License-Identifier: MIT
#include "store/step_numbers.h"

#include <algorithm>

#include "ipc/sound_values.h"

namespace lockstep::core {

StepNumbers::Numbered StepNumbers::take(int rank, const StepsFrame &reported, const RunLength &length, int node) {
    m_firstNode = std::min(m_firstNode, node);
    const auto known = m_ranks.find(rank);
    const bool again = known != m_ranks.end() && (goesBack(reported, known->second.reached) ||
                                                  (reported.count == 0 && reported.lastStep < known->second.reached));
    if (again && node > m_firstNode && !m_startsOver) {
        known->second.alone = true;
        return {known->second.shift, false, true};
    }
    if (again) { // all ranks are restarted together, so the first one that shows it speaks for all
        m_ranks.clear();
        m_startsOver = false;
    }
    const auto [place, begins] = m_ranks.try_emplace(rank);
    OfRank &own = place->second;
    if (begins)
        own.shift =
            std::clamp<std::int64_t>(length.lastStepBefore(reported.epoch) + 1 - reported.firstStep, 0, mostCounted);
    own.reached = reported.lastStep;
    own.alone = false;
    return {own.shift, again, false};
}

bool StepNumbers::makesAgainAlone(int rank) const {
    const auto known = m_ranks.find(rank);
    return known != m_ranks.end() && known->second.alone;
}

} // namespace lockstep::core
