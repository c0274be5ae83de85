#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/cores.h"
#include "ipc/run_config.h"
#include "launch/recipe.h"
#include "launch/side_by_side.h"

namespace lockstep::core {

/// One run that will be (or can't be) started.
struct PlannedRun {
    std::string name; ///< "DDP ×2"; the same for every repeat
    RunConfig config; ///< devices resolved
    int repeat = 1;   ///< from 1
    int repeats = 1;
    std::string notRunReason; ///< "not run: needs 8, has 2"; empty: it runs. Listed once, not once a repeat
    std::string note;
    std::optional<double> estimateS;  ///< launch to exit; absent: never run here before
    std::vector<std::string> command; ///< a script's, with its placeholders; empty: lockstep-trainer
    [[nodiscard]] bool runnable() const { return notRunReason.empty(); }
    bool operator==(const PlannedRun &) const = default;
};

struct Plan {
    std::string title, recipe;    ///< recipe: its name; empty for a free choice
    std::string reference;        ///< PlannedRun::name that speed-ups are measured from
    std::vector<PlannedRun> runs; ///< round by round as the recipe lists them: A B C A B C; what can't run comes last
    std::vector<int> order;       ///< indices of the runnable ones as they will run: B A C, C B A, …
    std::uint64_t orderSeed = 0;  ///< what `order` was drawn from; 0: it is as listed
    std::optional<double>
        estimateS;         ///< of all, side by side where that is asked for; absent when any runnable run's is
    SideBySide sideBySide; ///< how many may go at once, and on what
    int mostAtOnce = 1;    ///< how many will, by the devices that each wants
    [[nodiscard]] int runnableCount() const;
};

/// How long an earlier run of the same config took, and of the same command where a script runs, launch to exit; nothing when
/// there was none.
using EstimateSource = std::function<std::optional<double>(const RunConfig &, const std::vector<std::string> &command)>;

struct PlanOptions {
    bool quick = false;
    std::optional<int> repeats;                           ///< replaces the recipe's
    std::optional<std::uint64_t> orderSeed;               ///< likewise
    int sideBySide = 1;                                   ///< runs that may go at once, on devices of their own
    std::vector<std::pair<std::string, std::string>> set; ///< key=value on every run, after quick
    EstimateSource estimate;                              ///< may be empty
};

/// Resolves devices against `facts`, applies quick and set, drops runs equal to an earlier one. Repeats take turns: each
/// round has every run once, in an order of its own, so that a machine that drifts drifts under all alike; a single round
/// is run as listed. All mistakes of all runs at once (an unknown key, an indivisible batch); a reference that names no run is
/// one too.
[[nodiscard]] tl::expected<Plan, std::vector<Error>> expand(const Recipe &recipe, const MachineFacts &facts,
                                                            const PlanOptions &options = {});

/// Whether a setting is what a contrast is about: method, devices, backend, nodes.
[[nodiscard]] bool isMeant(std::string_view key);
/// "baseline", "DP ×2", "DDP ×2", "server ×2"; with the backend ("DDP ×2 gloo") when asked.
[[nodiscard]] std::string runTitle(const RunConfig &config, bool withBackend = false);
/// A setting as it stands in a name: "4 workers", "batch loader", "fp64", "seed 1".
[[nodiscard]] std::string settingText(const RunConfig &config, std::string_view key);
/// Of these cores those that no device of `config` trains on.
[[nodiscard]] CoreList coresBesideDevices(const RunConfig &config, const CoreList &allowed);
/// Whether another value of that key on every run may give the recipe's runs other names: it stands in a title, or they
/// differ in it.
[[nodiscard]] bool mayRename(const Recipe &recipe, std::string_view key);

/// What torchrun (or a shell) would run for the same: "torchrun --no-python --nproc-per-node 2 lockstep-trainer …".
[[nodiscard]] std::string torchrunCommand(const RunConfig &config);
/// The same of a planned run, which may be a script's: "torchrun --nproc-per-node 2 /…/train.py" or "python3 …".
[[nodiscard]] std::string torchrunCommand(const PlannedRun &run);

} // namespace lockstep::core
