// SPDX-License-Identifier: MIT
#pragma once
// Whether times depended on when a repeat was made: over the rounds of an experiment, and by its place within a round.
//
// Tested by ranks. Each run's repeats in the order of their start are a block (for the place: each round's repeats in their
// order, less each run's own mean). S counts the pairs of a block in which the later one took longer, less those in which it took
// shorter, summed over blocks: Kendall's statistic, stratified, as in Jonckheere's test. Its exact distribution without any
// effect is the convolution of the blocks' own (numbers of inversions of a random permutation). Above 10,000 pairs, p is that of
// a normal distribution of the same variance, corrected for kurtosis (Edgeworth): less than 0.00001 from the exact one.
// Pairs that tie count for neither side, which makes the test conservative. p is two-sided. It takes repeats as independent:
// shocks that happen to grow round by round look like a drift too, which is why the sentence says what was seen, not why.
// Sources: M. G. Kendall, Biometrika 30 (1938) 81; A. R. Jonckheere, Biometrika 41 (1954) 133.
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

struct OrderEffect {
    std::string key;   ///< round, position
    double change = 1; ///< time of the last ÷ time of the first, geometric mean over blocks
    double p = 1;
    int pairs = 0, blocks = 0; ///< pairs that were compared, blocks they come from
    std::string sentence;      ///< empty: no effect
    bool operator==(const OrderEffect &) const = default;
};

/// Of training times of one experiment's runs; empty where nothing can be tested. Said from p below 0.05 and 3 % on.
[[nodiscard]] std::vector<OrderEffect> orderEffectsOf(const std::vector<RepeatGroup> &groups);

/// Two-sided p of S, at least as far from 0 as that, for blocks of these sizes.
[[nodiscard]] double chanceOfTrend(const std::vector<int> &sizes, int s);

} // namespace lockstep::core
