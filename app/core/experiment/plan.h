// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/recipe.h"
#include "experiment/side_by_side.h"
#include "ipc/cores.h"
#include "ipc/run_config.h"

namespace lockstep::core {

/// Runs of an experiment as it is planned, and with the rounds that were added since.
inline constexpr std::size_t mostRunsPlanned = 10'000, mostRunsRead = 2 * mostRunsPlanned;

/// The bytes of the commands, the texts of the configurations, the names and the notes of all of an experiment's runs.
inline constexpr std::size_t mostBytesPlanned = 128 * 1024 * 1024;

/// One run that will be started, or can't be.
struct PlannedRun {
    std::string name; ///< "DDP on 2 devices"; the same for every repeat
    RunConfig config; ///< devices resolved
    int repeat = 1;   ///< from 1
    int repeats = 1;
    std::string notRunReason; ///< "not run: needs 8, has 2"; empty: it runs. Listed once, not per repeat
    std::string note;
    std::optional<double> estimateS;  ///< launch to exit; absent: nothing like it ran here before
    std::vector<std::string> command; ///< a script's command with placeholders; empty: lockstep-trainer
    ScriptClaims claims = {};         ///< about that script
    [[nodiscard]] bool runnable() const { return notRunReason.empty(); }
    bool operator==(const PlannedRun &) const = default;
};

/// "DDP on 2 devices #2" where there are several repeats.
[[nodiscard]] std::string nameWithRepeat(const PlannedRun &run);

struct Plan {
    std::string title, recipe;           ///< recipe: its name; empty for a free choice
    std::string reference;               ///< PlannedRun::name of the reference for speed-ups
    std::vector<PlannedRun> runs;        ///< rounds in the recipe's order: A B C A B C; runs that can't run come last
    std::vector<int> order;              ///< indices of the runnable ones in running order: B A C, C B A, …
    std::uint64_t orderSeed = 0;         ///< seed of `order`; 0: as listed
    std::optional<double> estimateS;     ///< of all, side by side if chosen; absent if unknown for any runnable run
    SideBySide sideBySide;               ///< how many may run at once, and on which devices
    std::optional<WidthGoal> untilWidth; ///< rounds are added until intervals are so narrow
    std::vector<std::string> notes;      ///< a sentence for each run that is another one under a name of its own
    int mostAtOnce = 1;                  ///< how many will, given the devices that each needs
    [[nodiscard]] int runnableCount() const;
};

/// How long an earlier run of the same config (and of a script's command) took, launch to exit; nothing if
/// there was none.
using EstimateSource = std::function<std::optional<double>(const RunConfig &, const std::vector<std::string> &command)>;

/// Why a run can't run although its devices are there ("Fashion-MNIST is not on this machine"); empty: nothing is known against it.
using WhyNot = std::function<std::string(const RunConfig &, const std::vector<std::string> &command)>;

struct PlanOptions {
    bool quick = false;
    std::optional<int> repeats;       ///< replaces the recipe's
    std::optional<double> untilWidth; ///< replaces the recipe's goal; without it, `repeats` are all that is asked for
    std::optional<int> mostRounds;    ///< of the goal
    std::optional<std::uint64_t> orderSeed;               ///< replaces the recipe's
    int sideBySide = 1;                                   ///< runs at the same time, each on its own devices
    std::vector<std::pair<std::string, std::string>> set; ///< key=value for every run, applied after quick
    EstimateSource estimate;                              ///< may be empty
    WhyNot whyNot;                                        ///< likewise
};

/// Resolves devices against `facts`, applies quick and set, drops duplicate runs. Repeats alternate: each round has
/// every run once in its own random order, so that a machine's drift affects all runs alike; a single round runs as
/// listed. Reports the mistakes of all runs at once, of many the first mostMistakesNamed (key_reader.h): an unknown key,
/// an indivisible batch, a reference that names no run, a command that can't be started. More than mostRunsPlanned,
/// mostBytesPlanned or mostPlaces (place_limit.h) are refused before they are made.
[[nodiscard]] tl::expected<Plan, std::vector<Error>> expand(const Recipe &recipe, const MachineFacts &facts,
                                                            const PlanOptions &options = {});

/// What a run with this configuration takes of mostBytesPlanned: its command, filled in, and its texts. Fails if the command is longer
/// than a program can be started with.
[[nodiscard]] Result<std::size_t> bytesOf(const RunSpec &spec, const RunConfig &config);

/// Those of these cores on which no device of `config` trains.
[[nodiscard]] CoreList coresBesideDevices(const RunConfig &config, const CoreList &allowed);
} // namespace lockstep::core
