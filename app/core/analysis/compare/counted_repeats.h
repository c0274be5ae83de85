// SPDX-License-Identifier: MIT
#pragma once
// Which repeats the comparison of two runs counts: chosen once, by their training times, for all figures of the comparison.
//
// First, rounds in which other programs were busy. Load slows runs unequally: a run whose two ranks wait for each other loses more to a
// third busy process than one that has a core to spare. So a disturbed round measures another factor than a quiet one, and the mean of
// both is neither. A repeat is disturbed where others took a quarter of a core more from it than from its run's quietest repeat
// (Repeat::load), and so is all of its round. The choice rests on the load measured and not on the times, so the intervals of what is left
// hold the truth as often as any. Where fewer than three quiet rounds are left, all count, and nothing is settled.
// Load that all repeats bear alike, or one run more than the other, is no matter of rounds: fairness reports it.
//
// Then, of what is left, one repeat that no scatter explains (standing_out.h).
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/mean_difference.h"
#include "analysis/compare/standing_out.h"

namespace lockstep::core {

/// Cores' worth beyond the quietest repeat's, from which a repeat counts as disturbed.
inline constexpr double disturbedFrom = 0.25;

/// Rounds in which other programs were busy, while they were less so in others.
struct Disturbance {
    std::vector<int>
        rounds;       ///< Repeat::number of those disturbed, ascending; empty: repeats that were made in no rounds
    double cores = 0; ///< the most that others took in them beyond the quietest repeat
    int quiet = 0;    ///< repeats that are not disturbed, of the run that has fewer
    /// Whether they are left out; else there is too little without them.
    [[nodiscard]] bool isLeftOut() const { return quiet >= repeatsForInterval; }
    bool operator==(const Disturbance &) const = default;
};

/// "other programs were busy in rounds 1-3".
[[nodiscard]] std::string busyText(const Disturbance &disturbance);

struct CountedRepeats {
    std::vector<std::size_t> reference, run; ///< places of those that count, ascending
    std::optional<Disturbance> disturbance;
    std::optional<StandingOut> standingOut; ///< "first" is the reference; its place is among all
};

/// Of training times, all positive and finite.
[[nodiscard]] CountedRepeats countedRepeats(const std::vector<Repeat> &reference, const std::vector<Repeat> &run);

/// The elements at these places.
template <class T>
[[nodiscard]] std::vector<T> pick(const std::vector<T> &all, const std::vector<std::size_t> &places) {
    std::vector<T> out;
    out.reserve(places.size());
    for (const std::size_t place : places)
        out.push_back(all[place]);
    return out;
}

} // namespace lockstep::core
