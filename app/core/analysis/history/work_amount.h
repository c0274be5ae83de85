// SPDX-License-Identifier: MIT
#pragma once
// How much a run had to do, and when two had as much: the one measure for repeats, groups of runs and the fairness
// guard.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "store/run_data.h"
#include "store/run_index.h"

namespace lockstep::core {

/// Counts that are apart by this share of the larger one, or more, are of unlike work: the fairness guard names them.
inline constexpr double unlikeFrom = 0.0001;
/// From this share on runs are no repeats of each other. Those that stop by the clock differ by less.
inline constexpr double noRepeatsFrom = 0.005;
/// |a - b| ÷ the larger one; of counts above 0.
[[nodiscard]] double shareApart(double a, double b);

/// Of all ranks in the epochs that its training time is of, where every one is known.
[[nodiscard]] std::optional<double> samplesSeen(const RunOutcome &run);
/// That every rank has done.
[[nodiscard]] std::optional<double> stepsMade(const RunOutcome &run);
/// Those that its training time is of: up to the last that a rank reported, though another rank's frame was lost;
/// without those before a checkpoint, unless their time is known.
[[nodiscard]] std::optional<double> epochsMade(const RunOutcome &run);

/// Absent is unknown: all of it of a run that is not done, whose counts say how far it came.
struct WorkAmount {
    std::optional<double> samples, steps, epochs;
    bool operator==(const WorkAmount &) const = default;
};
[[nodiscard]] WorkAmount amountOf(const RunOutcome &run);
[[nodiscard]] WorkAmount amountOf(const IndexedRun &run);
/// `other`'s counts where `amount` has none.
void fillIn(WorkAmount &amount, const WorkAmount &other);

/// "6,400 samples"; without samples the steps, without them the epochs; empty: nothing is known.
[[nodiscard]] std::string toText(const WorkAmount &amount);
/// "3,200 samples instead of 6,400", by samples where both know theirs, else by steps, else by epochs. Empty: they are
/// less than `noRepeatsFrom` apart, or nothing is known of both.
[[nodiscard]] std::string unlikeAmounts(const WorkAmount &reference, const WorkAmount &run);

/// Places of runs that are repeats otherwise, those of as much work together; each ascending, the groups by their
/// first. Runs of which nothing is known go with the others where these had as much to do, else they are a group of
/// their own.
[[nodiscard]] std::vector<std::vector<std::size_t>> byAmount(const std::vector<WorkAmount> &amounts);

} // namespace lockstep::core
