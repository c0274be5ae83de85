#pragma once
// An experiment on disk: experimentsFolder()/EXP_ID/
//   experiment.json   rewritten by rename by its one owner
//   experiment.lock   held by the owner while it lives
//   requests/         what was asked of the owner and not taken yet (queue_request.h)
//   control.json      which viewer holds control (follow/control_seat.h)
//   origin.json       only where the queue lives on another machine, and this is a copy (queue_origin.h)
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_folder.h"
#include "launch/command_prefix.h"
#include "launch/plan.h"
#include "launch/recipe.h"
#include "launch/side_by_side.h"

namespace lockstep::core {

/// Where one run of the queue stands. Launching: its id is written, its agent may or may not have come up.
enum class EntryState { Queued, Launching, Running, Done, Failed, Stopped, NotRun };
[[nodiscard]] std::string_view toString(EntryState state); ///< queued, launching, …, "not run"
[[nodiscard]] std::optional<EntryState> entryStateFrom(std::string_view text);
[[nodiscard]] bool isOver(EntryState state);

struct ExperimentEntry {
    PlannedRun planned;
    EntryState state = EntryState::Queued;
    std::string run;                      ///< run id, from Launching on
    std::string reason;                   ///< one sentence when failed, stopped or not run
    std::vector<std::string> earlierRuns; ///< of attempts before this one, oldest first
    bool alone = false;                   ///< no other run of the experiment goes beside it
    /// What was started, where it differs from what was planned: moved to free devices beside other runs.
    std::optional<RunConfig> placed = {};
    [[nodiscard]] const RunConfig &config() const { return placed ? *placed : planned.config; }
    bool operator==(const ExperimentEntry &) const = default;
};

struct Experiment {
    std::string id, title;
    Recipe recipe; ///< whole, so that published figures and notes travel with it
    std::string reference;
    bool quick = false;
    std::string host; ///< empty: this machine
    std::string remoteAgent;
    std::int64_t createdWallUs = 0;
    std::vector<ExperimentEntry> entries; ///< never reordered: an index names an entry for good
    std::vector<int> order;      ///< in which the queued ones run, as drawn or moved; others follow as they stand
    std::uint64_t orderSeed = 0; ///< what the order was drawn from; 0: as listed
    std::string pausedBy;        ///< empty: the queue is not paused
    SideBySide sideBySide;       ///< how many runs may go at once, and where
    bool check = true;           ///< devices of several nodes, or GPUs, are checked before their first run

    [[nodiscard]] std::vector<int> queued() const; ///< entries that wait, in the order they will run
    void setQueued(const std::vector<int> &waiting) { order = waiting; }
    [[nodiscard]] bool paused() const { return !pausedBy.empty(); }
    [[nodiscard]] int runnableCount() const;
    [[nodiscard]] int overCount() const;              ///< runnable entries that are over
    [[nodiscard]] std::vector<int> currents() const;  ///< entries launching or running
    [[nodiscard]] std::optional<int> current() const; ///< the first of them
    [[nodiscard]] bool over() const;                  ///< nothing queued, launching or running
};

[[nodiscard]] std::string toJson(const Experiment &experiment);
[[nodiscard]] Result<Experiment> experimentFromJson(std::string_view text);

struct ExperimentFolder {
    std::string path;
    [[nodiscard]] std::string json() const { return path + "/experiment.json"; }
    [[nodiscard]] std::string lock() const { return path + "/experiment.lock"; }
    [[nodiscard]] std::string requests() const { return path + "/requests"; }
    [[nodiscard]] std::string console() const { return path + "/runner.log"; }
};
[[nodiscard]] ExperimentFolder experimentFolder(std::string_view id);

/// What lockstep-agent is asked to start for an entry.
[[nodiscard]] LaunchRequest requestFor(const Experiment &experiment, const ExperimentEntry &entry);
/// A new one for a plan, not yet on disk.
[[nodiscard]] Experiment makeExperiment(const Plan &plan, const Recipe &recipe, bool quick, const CommandPrefix &where);
[[nodiscard]] Result<Experiment> readExperiment(std::string_view id);
[[nodiscard]] Result<void> writeExperiment(const Experiment &experiment); ///< makes its folder; atomic
/// Another text with each rewriting of its experiment.json; empty without one. Cheap: reading the document is not.
[[nodiscard]] std::string experimentStamp(std::string_view id);
/// Newest first.
[[nodiscard]] std::vector<std::string> listExperiments();
/// Whether a live process of this machine owns its queue.
[[nodiscard]] bool isOwned(std::string_view id);
/// Asks the owner to stop queue and current runs. Without an owner the queue is closed here and the current runs asked.
[[nodiscard]] Result<void> stopExperiment(std::string_view id, std::string_view by);

} // namespace lockstep::core
