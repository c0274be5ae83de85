// SPDX-License-Identifier: MIT
#include "store/run_losses.h"

namespace lockstep::core {

void RunLosses::take(int rank, LossPoint place, const StepsFrame &body) {
    if (!body.loss)
        return;
    place.loss = body.loss->mean;
    place.min = body.loss->min;
    place.max = body.loss->max;
    place.samples = body.samples;
    m_ranks[rank].append(place);
    m_merger.add(rank, place, m_all);
}

const LossSeries *RunLosses::ofRank(int rank) const {
    const auto found = m_ranks.find(rank);
    return found == m_ranks.end() ? nullptr : &found->second;
}

} // namespace lockstep::core
