// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

namespace lockstep::core {

/// A seed of its own for each new experiment, from the system's source of randomness; 1 to 2,147,483,647.
[[nodiscard]] std::uint64_t newOrderSeed();

/// The order in which `runs` runs are made in `rounds` rounds, each round having every run once: indices round × runs + run.
///
/// Rounds are balanced by reversal: a random order is followed, in some later or earlier round, by its reverse, so that every run
/// has the same mean position and a machine that slows down steadily slows all runs alike. An odd number of rounds has one group of
/// three whose positions add up to the same number for every run (with an even number of runs: to that number or one more), so that
/// the mean positions of two runs differ by at most one place ÷ rounds. Which run takes which part, and the order of the rounds, is
/// drawn from the seed: over seeds each run is as often early as late.
///
/// Seed 0, or a single round: as listed. The same seed gives the same order on any machine.
/// Source of the balance: D. R. Cox, Planning of Experiments (1958), ch. 3 and 13 (systematic and counterbalanced orders).
[[nodiscard]] std::vector<int> drawRounds(int runs, int rounds, std::uint64_t seed);

} // namespace lockstep::core
