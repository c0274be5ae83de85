// SPDX-License-Identifier: MIT
#include "store/run_losses.h"

#include <algorithm>

namespace lockstep::core {

void RunLosses::take(int rank, LossPoint place, const StepsFrame &body) {
    if (!body.loss) {
        if (body.count > 0)
            m_merger.pass(rank, body.lastStep, m_all);
        return;
    }
    place.loss = body.loss->mean;
    place.min = body.loss->min;
    place.max = body.loss->max;
    place.samples = body.samples;
    watch(rank, body);
    m_ranks[rank].append(place);
    m_merger.add(rank, body.firstStep, place, m_all);
}

void RunLosses::placeAnew(const EpochPlaces &places) {
    m_all.placeAnew(places);
    m_merger.placeAnew(places);
}

void RunLosses::placeRankAnew(int rank, const EpochPlaces &places) {
    if (const auto own = m_ranks.find(rank); own != m_ranks.end())
        own->second.placeAnew(places);
}

void RunLosses::watch(int rank, const StepsFrame &body) {
    const std::optional<double> lost = notFiniteIn(*body.loss);
    const auto known = m_diverged.find(rank);
    if (known != m_diverged.end() && body.firstStep <= known->second.firstStep)
        m_diverged.erase(known); // the rank restarted from an earlier step
    else if (known != m_diverged.end())
        known->second.recovered = !lost;
    if (lost)
        m_diverged.try_emplace(rank, Divergence{body.firstStep, body.lastStep, *lost, false});
}

std::optional<RunLosses::Divergence> RunLosses::divergence() const {
    const auto first = std::ranges::min_element(m_diverged, {}, [](const auto &one) { return one.second.firstStep; });
    return first == m_diverged.end() ? std::nullopt : std::optional(first->second);
}

const LossSeries *RunLosses::ofRank(int rank) const {
    const auto found = m_ranks.find(rank);
    return found == m_ranks.end() ? nullptr : &found->second;
}

} // namespace lockstep::core
