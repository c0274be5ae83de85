// SPDX-License-Identifier: MIT
#pragma once
// Where a run's time went, in the few parts that causes are named by. Seconds.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

/// Parts of a run's time. Of several ranks the one with the median waiting is taken (of two, the one that waits more):
/// ranks of a synchronous step all take the same time, so one slow rank shows as the others' waiting and not as
/// slower computing of all. Of a pipeline it is the mean of its stages, each of which computes something else. Absent: no frame
/// reports it.
struct TimeParts {
    double runS = 0;             ///< launch to exit
    double trainingS = 0;        ///< sum of the durations of the run's own epochs: trainedHereS()
    double startUpS = 0;         ///< runS less trainingS
    std::optional<double> loadS; ///< load + h2d
    /// forward + backward + optimizer, less scatter, replicate and gather. Data parallel's loss on device 0 is computing; its
    /// parallel parts last until the slowest device is done, so waiting of its devices for each other is in here.
    std::optional<double> computeS;
    /// exposed less wait. Data parallel: scatter + replicate + gather + reduce: copies between devices, which one
    /// device does not have. Where `wait` is unknown waiting is in here.
    std::optional<double> communicationS;
    /// For slower ranks; 0 for one process. Where ranks of DDP don't report it by itself (GPUs, scripts), what a rank is held up by sums of
    /// gradients longer than the rank that is held up least, which is the one that is waited for. What they wait for each other in turn
    /// is then in communicationS. What the rank waits at the ends of epochs for ranks that take longer is in here too; where only sums of
    /// gradients are known, in communicationS.
    std::optional<double> waitS;
    bool waitFollows = false; ///< waitS isn't reported, but follows from the sums of all ranks
    double restS = 0;         ///< training time that is in none of the known parts
};

/// Absent without both times or without any phase of loading or computing.
[[nodiscard]] std::optional<TimeParts> partsOf(const RunOutcome &run);

/// One repeat's parts; `made` has its round and moment, and means nothing else.
struct RepeatParts {
    TimeParts parts;
    Repeat made;
};
/// Of each repeat that reports its phases; a part that one of them lacks is absent in all, and in their rest. All parts are
/// scaled by one factor, the geometric mean of the run times ÷ their arithmetic mean (0.9995 where times scatter by 3 %), so
/// that their means add up to the geometric mean, by which speed-ups are computed.
[[nodiscard]] std::vector<RepeatParts> partsOfRepeats(const RepeatGroup &group);
/// Means of at least one repeat's parts.
[[nodiscard]] TimeParts meanOf(const std::vector<RepeatParts> &repeats);
/// The means over a group's repeats; absent where no repeat reports phases.
[[nodiscard]] std::optional<TimeParts> partsOf(const RepeatGroup &group);

/// Why partsOf(run) is absent: "it reported no phases of its steps", "how long it trained is unknown", …; empty: it isn't.
[[nodiscard]] std::string whyNoParts(const RunOutcome &run);
/// The rank that the others wait for: the one that waits least, if it waits less than half as long as the rank in the middle. Absent
/// where none does, or not every rank reports how long it waits.
[[nodiscard]] std::optional<int> waitedFor(const RunOutcome &run);

/// The share of its phases for which each rank waits for others, 0..1, mean over the repeats that report it; without ranks that don't.
[[nodiscard]] std::map<int, double> waitShares(const RepeatGroup &group);
/// Load and computing of a rank by itself, seconds over the whole run; absent without phases.
[[nodiscard]] std::optional<double> ownTime(const RunOutcome &run, int rank);
/// Of a rank of a run; 0 when it was not reported.
[[nodiscard]] double phaseOf(const RunOutcome &run, int rank, std::string_view phase);

} // namespace lockstep::core
