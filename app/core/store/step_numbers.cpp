// SPDX-License-Identifier: MIT
#include "store/step_numbers.h"

#include <algorithm>

#include "ipc/sound_values.h"

namespace lockstep::core {

StepNumbers::Numbered StepNumbers::take(int rank, const StepsFrame &reported, const RunLength &length) {
    const auto [known, isNew] = m_ranks.try_emplace(rank);
    OfRank &own = known->second;
    const bool begins = isNew || own.reached < 0;
    const bool again =
        !begins && (goesBack(reported, own.reached) || (reported.count == 0 && reported.lastStep < own.reached));
    if (again) // all ranks are restarted together, so the first one that shows it speaks for all
        for (auto &[other, numbers] : m_ranks)
            numbers.reached = -1;
    if (begins || again)
        own.shift =
            std::clamp<std::int64_t>(length.lastStepBefore(reported.epoch) + 1 - reported.firstStep, 0, mostCounted);
    own.reached = reported.lastStep;
    return {own.shift, again};
}

} // namespace lockstep::core
