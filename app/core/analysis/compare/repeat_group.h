// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/result_table.h"
#include "analysis/compare/statistics.h"
#include "store/run_data.h"

namespace lockstep::core {

/// All done repeats of one configuration: what is compared.
struct RepeatGroup {
    std::string name;             ///< as its row in the result table, "DDP on 2 devices"
    std::vector<RunOutcome> runs; ///< done ones, oldest first; without those that made no epoch, unless none did
    bool reference = false;
    std::vector<std::string> command = {}; ///< a script's, with its placeholders, where a recipe names it
};

/// Whether two runs were recorded from the same files, or have one log, as a copy has.
[[nodiscard]] bool areOneMeasurement(const RunOutcome &a, const RunOutcome &b);
/// Runs, each measurement once.
struct MeasuredOnce {
    /// In their order: of one measurement a run that is done, and of several the one that has a training time, then a log that
    /// lacks no lines, then most of the epochs, then of the files.
    std::vector<const RunOutcome *> counted;
    /// Those of a measurement of which two report different epochs, times, tests or metrics: what was measured is unknown.
    std::vector<const RunOutcome *> disputed;
    std::vector<std::string> disputes; ///< a sentence for each such measurement, which names the two
};
[[nodiscard]] MeasuredOnce eachMeasuredOnce(const std::vector<const RunOutcome *> &runs);

/// The groups of a table's measured rows, in its order; a row without a done run is left out.
[[nodiscard]] std::vector<RepeatGroup> groupsOf(const ResultTable &table, const std::vector<RunOutcome> &outcomes);

/// The group of that name; null: there is none.
[[nodiscard]] const RepeatGroup *findGroup(std::span<const RepeatGroup> groups, const std::string &name);

/// A figure of a run; absent: unknown.
using Figure = std::function<std::optional<double>(const RunOutcome &)>;
/// Its values in the repeats where it is known, oldest first.
[[nodiscard]] std::vector<double> figuresOf(const RepeatGroup &group, const Figure &figure);

/// The round of its experiment in which a run was made (see Repeat); empty for a run without an experiment.
[[nodiscard]] std::string roundOf(const RunOutcome &run);

/// What a run measured as one repeat of its cell, with its round, the moment at which it began and the load of other programs.
[[nodiscard]] Repeat repeatOf(const RunOutcome &run, double value, double earlierS = 0);

/// Its training time as one repeat; absent: unknown.
[[nodiscard]] std::optional<Repeat> trainingRepeatOf(const RunOutcome &run);

/// The median of its whole epochs after the first, which warms up; absent where there is none.
[[nodiscard]] std::optional<double> laterEpochS(const RunOutcome &run);

/// Keeps of these runs (or what points to them) those that made an epoch; all of them where none did.
template <class Runs> void keepThoseThatTrained(Runs &runs) {
    if (!std::ranges::all_of(runs, &RunOutcome::madeNoEpoch))
        std::erase_if(runs, std::mem_fn(&RunOutcome::madeNoEpoch));
}

/// What `get` gives of each of these runs, an optional, if that is the same of all; absent: it is not, or one has none.
template <class Runs, class Get> [[nodiscard]] auto commonOf(const Runs &runs, Get get) {
    decltype(get(*std::begin(runs))) common;
    for (const auto &run : runs) {
        const auto own = get(run);
        if (!own || *own != common.value_or(*own))
            return decltype(common)();
        common = own;
    }
    return common;
}
/// The epoch with which all these runs (or what points to them) begin; absent: not all with the same, or one in its middle.
template <class Runs> [[nodiscard]] std::optional<int> commonFirstEpoch(const Runs &runs) {
    return commonOf(runs, [](const auto &run) {
        const bool amid = std::invoke(&RunOutcome::amidEpoch, run);
        return amid ? std::nullopt : std::optional<int>(std::invoke(&RunOutcome::firstEpoch, run));
    });
}
/// Whether runs of these common first epochs have the same to do from launch to exit: one that goes on from a checkpoint has less.
[[nodiscard]] inline bool beginAlike(std::optional<int> one, std::optional<int> other) {
    return one && one == other;
}
/// Whether the run times of all these runs (or of what points to them) are of frames (RunOutcome::spansFrames); absent: of some only.
template <class Runs> [[nodiscard]] std::optional<bool> commonSpan(const Runs &runs) {
    return commonOf(runs,
                    [](const auto &run) { return std::optional<bool>(std::invoke(&RunOutcome::spansFrames, run)); });
}
/// Whether run times of these common spans can be compared: what comes before the first frame is in one from launch to exit alone.
[[nodiscard]] inline bool timedAlike(std::optional<bool> one, std::optional<bool> other) {
    return one && one == other;
}
/// Why what the two measured of themselves doesn't explain a difference of their training times, in two sentences: one
/// went on from a checkpoint, whose epochs another run made. Empty: both made the same epochs, and all of them here.
[[nodiscard]] std::string whyOtherEpochs(const RepeatGroup &reference, const RepeatGroup &run);

/// A run that would settle something, and can be started as it stands.
struct SuggestedRun {
    std::string name; ///< "baseline, 4 workers"
    std::string why;  ///< one sentence: what it would show
    RunConfig config;
    std::vector<std::string> command = {}; ///< as PlannedRun's: a script with placeholders; empty: lockstep-trainer
    ScriptClaims claims = {};              ///< about that script
    /// Runs to be made again in their place (a retry of their entries); empty: a further run. `experiment`: whose they are;
    /// empty: unknown, or of several. `alone`: with no run beside them.
    std::vector<std::string> again = {};
    std::string experiment = {};
    int rounds = 0; ///< whole rounds of the experiment, in place of a run; `config` means nothing then
    bool alone = false;
    bool operator==(const SuggestedRun &) const = default;
};

/// "baseline, 4 workers"; "repeat DDP on 2 devices (close other programs first)" of runs to be made again.
[[nodiscard]] std::string toText(const SuggestedRun &run);

} // namespace lockstep::core
