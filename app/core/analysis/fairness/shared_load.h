// SPDX-License-Identifier: MIT
#pragma once
// Other programs' processor time, in cores' worth: per run, in all runs alike, and a factor adjusted for it.
//
// Raw load is what other processes (or, stolen, other guests of the hypervisor) used. Its excess is what lay beyond the cores
// that were free of ranks: only that had to come from the ranks' own cores. A hypervisor's theft hits every core, so all of it is
// excess. Comparing two runs shows only how their excess differs (fairness_conditions.cpp): the load of all runs is reported here.
//
// The adjusted factor comes from an analysis of covariance: log time = a(run) + b · x, where x is a repeat's whole excess and b is common
// to the two runs; where their own repeats are too few or too evenly loaded, to all runs of their experiments. b = Sxy/Sxx, from
// deviations within each run's own repeats; then
//     adjusted = exp((mean log time of the reference - of the run) - b · (mean x of the reference - of the run)),
// with variance s² · (1/n + 1/m + (difference of mean x)²/Sxx) and N - runs - 1 degrees of freedom. It is a sensitivity: load
// that differs by chance is no experiment, and b takes its effect as alike in all runs and proportional.
// Source: R. A. Fisher, Statistical Methods for Research Workers, 4th ed. (1932), section 49.1.
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

/// Cores' worth, mean over the run; absent: not measured.
[[nodiscard]] std::optional<double> otherCores(const RunOutcome &run);
[[nodiscard]] std::optional<double> stolenCores(const RunOutcome &run);
/// Cores of the run's first node that no rank was bound to. A run on GPUs alone leaves its host free.
[[nodiscard]] double freeCores(const RunOutcome &run);
/// The same of the node that the two figures above are of: of several nodes the one that was loaded most.
[[nodiscard]] double freeCoresWhereLoaded(const RunOutcome &run);
/// Others' load beyond the free cores, and time stolen by the hypervisor.
[[nodiscard]] std::optional<double> excessCores(const RunOutcome &run);
/// A part of some time, as a share of it; absent where there was no time.
[[nodiscard]] std::optional<double> shareOfTime(std::optional<double> partS, double wholeS);

/// The load that every run had.
struct SharedLoad {
    std::string key;          ///< load, stolen: as of FairnessFinding
    double low = 0, high = 0; ///< raw, cores' worth: of the run (mean over its repeats) with the least and the most
    double excessLow = 0, excessHigh = 0; ///< of that, beyond the free cores
    std::string sentence;
    bool operator==(const SharedLoad &) const = default;
};
/// Reported from a tenth of a core in every run on, like a difference; raw load alone from half a core on.
[[nodiscard]] std::vector<SharedLoad> sharedLoadsOf(const std::vector<RepeatGroup> &groups);

/// A speed-up by training time as it would be if all repeats had had the same load.
struct AdjustedFactor {
    double factor = 1, low = 1, high = 1; ///< with its 95 % interval
    double perCore = 0;                   ///< b: added log time for one core's worth of excess
    int repeats = 0, degrees = 0;         ///< that b rests on
    bool operator==(const AdjustedFactor &) const = default;
};
/// Absent with fewer than three repeats of either or fewer than four degrees of freedom, where load is unknown or so even
/// within each run's repeats (a standard deviation below 0.02 cores) that nothing can be fitted, and where every repeat of one had more
/// of it than any of the other: the line would be drawn far beyond what was measured.
[[nodiscard]] std::optional<AdjustedFactor> adjustedFactorOf(const RepeatGroup &reference, const RepeatGroup &run,
                                                             const std::vector<RepeatGroup> &groups);
/// "adjusted for measured load: 1.62× (1.50-1.75); a sensitivity check, not the result".
[[nodiscard]] std::string sentenceOf(const AdjustedFactor &adjusted);

} // namespace lockstep::core
