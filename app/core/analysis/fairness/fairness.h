// SPDX-License-Identifier: MIT
#pragma once
// Whether two groups differ in what was meant only. Pure; what a run did not record is not found.
//
// Settings come from the configs (of a script: from what it reported about itself), in effect rather than as written: the
// global batch, the learning rate after its rule, threads after their default. What was measured is compared as the mean
// over a group's repeats, and named only where the two groups are further apart than honest repeats are:
//   load, stolen, watching   cores' worth beyond the cores that were free of ranks; named from 0.05 apart (an idle desktop
//                            takes 0.01 to 0.04), notable from 0.1, decisive from 0.5. Ranks wait for each other, so each
//                            0.1 of a core can cost about 10 % of the time. On free cores: minor, from half a core on
//                            (caches, memory and the clock are shared).
//   throttling               share of the time; named from 0.02, notable from 0.05, decisive from 0.3
//   accuracy                 named from 1 point (the honest scatter of a 10,000-image test set is some 0.4), and from what it
//                            still moved between the last two epochs, when it is also three times the repeats' own
//                            deviation; decisive from 3 points and three times that move. Not where the recipe has them learn
//                            unlike things on purpose
//   samples                  seen over the whole run, of the two repeats that are furthest apart; named from 0.01 %, notable from
//                            0.5 %, decisive from 5 %. Where not every repeat knows them: steps, of one method and as many processes each.
//                            Where a run's log lacks epochs, those of its summary (RunOutcome::summedEpochs)
//   epochs                   reported, where neither decides; weighs as samples do
//   work                     steps where a step of each has other samples: alike if as many, or as many times ranks, or
//                            times the batch size; from 5 % apart how much each had to do is unknown, which is decisive
//   side_by_side             other known runs that went on the same machine meanwhile, mean over the run's time; named from
//                            0.1 apart, notable from 0.25: cores are their own, memory, caches and the clock are shared
//   order                    repeats of one group all before the other's, so that a drift of the machine looks like a gain. Runs
//                            that were added later are so; half of the earlier repeats again, and the others lie between them
// Loading workers weigh by what loading costs there: minor where it is under 2 % of either's training time, notable under
// 10 %, else decisive.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {
class RunsBeside;

/// How much a difference can bend the comparison.
enum class FairnessWeight {
    Minor,   ///< hardly moves a time: a seed, a few percent of other load
    Notable, ///< can move it by more than the repeats spread
    Decisive ///< another work or other means: the speed-up does not say what it seems to
};
[[nodiscard]] std::string_view toString(FairnessWeight weight);  ///< minor, notable, decisive
[[nodiscard]] std::string_view meaningOf(FairnessWeight weight); ///< what that says of a comparison

/// One difference that was not meant.
struct FairnessFinding {
    /// A RunConfig key (batch_size speaks of the global batch, lr_rule of the rate after its rule), or one of: samples, steps, epochs, work, data, script,
    /// accuracy, load, stolen, watching, throttling, side_by_side, order, host, cpu_model, gpu_model, machine_cores, torch_version, kernel,
    /// gpu_driver, program, lockstep_version.
    std::string key;
    std::string label;     ///< "Loading workers"
    std::string reference; ///< the reference's value as people read it
    std::string run;       ///< the run's
    FairnessWeight weight = FairnessWeight::Minor;
    std::string
        sentence; ///< "Loading workers 4 instead of 0: a gain may …"; names neither run, whoever shows it names both
    std::optional<SuggestedRun> control; ///< the run that would settle it: a missing one, or disturbed repeats again
    bool operator==(const FairnessFinding &) const = default;
};

/// "Loading workers 4 instead of 0", "82 further flags differ".
[[nodiscard]] std::string differenceIn(const FairnessFinding &finding);

/// Keys of findings that say how much work was done, as it was measured.
inline constexpr std::array<std::string_view, 4> measuredWork = {"samples", "steps", "epochs", "work"};
/// Whether a finding of that key says that the two had different work, by that or by their settings, so that their times can't be
/// compared.
[[nodiscard]] bool isOfOtherWork(std::string_view key);

/// Whether a recipe that varies these keys lets that one differ: a batch size with the batch per device, a rate's rule with the rate.
/// Never where a difference is other work (isOfOtherWork()): meant or not, times of it can't be compared.
[[nodiscard]] bool isVaried(const std::vector<std::string> &varies, std::string_view key);

/// Heaviest first; empty: fair as far as is known. `varies`: keys that differ on purpose in pairs of one method and equal
/// devices; changed together with those, they are named: DDP with 4 workers against a baseline with none. Other work always is.
[[nodiscard]] std::vector<FairnessFinding> fairnessOf(const RepeatGroup &reference, const RepeatGroup &run,
                                                      const std::vector<std::string> &varies,
                                                      const std::vector<RepeatGroup> &others);
/// The same. `beside`: of all of these groups, made once for the many pairs among them.
[[nodiscard]] std::vector<FairnessFinding> fairnessOf(const RepeatGroup &reference, const RepeatGroup &run,
                                                      const std::vector<std::string> &varies,
                                                      const std::vector<RepeatGroup> &others, const RunsBeside &beside);

/// Which of the two's repeats don't report how much they had to do while others do, without a full stop: what is unknown is no
/// finding, and may be less work. Empty: all report it, or none.
[[nodiscard]] std::string whyWorkUnknown(const RepeatGroup &reference, const RepeatGroup &run);

} // namespace lockstep::core
