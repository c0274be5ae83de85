// SPDX-License-Identifier: MIT
#pragma once
// An experiment on disk: experimentsFolder()/EXP_ID/
//   experiment.json   rewritten by rename, only by its owner
//   experiment.lock   held by the owner while it lives
//   requests/         requests that the owner has not handled yet (queue/queue_request.h)
//   control.json      which viewer holds control (queue/control_seat.h)
//   origin.json       only if the queue is on another machine and this is a copy (queue_origin.h)
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_prefix.h"
#include "experiment/plan.h"
#include "experiment/recipe.h"
#include "experiment/side_by_side.h"
#include "experiment/width_goal.h"
#include "ipc/error.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

struct Experiment;
/// Whether so many runs more, which name so many places (place_limit.h), can be added without its file growing beyond what is read.
[[nodiscard]] Result<void> roomFor(const Experiment &experiment, std::size_t runs, std::size_t places);

/// State of one run in the queue. Launching: its id is written, its agent may or may not have started.
enum class EntryState { Queued, Launching, Running, Done, Failed, Stopped, NotRun };
[[nodiscard]] std::string_view toString(EntryState state); ///< queued, launching, …, "not run"
[[nodiscard]] std::optional<EntryState> entryStateFrom(std::string_view text);
[[nodiscard]] bool isOver(EntryState state);

struct ExperimentEntry {
    PlannedRun planned;
    EntryState state = EntryState::Queued;
    std::string run;                      ///< run id, from Launching on
    std::string reason;                   ///< one sentence if failed, stopped or not run
    std::vector<std::string> earlierRuns; ///< of attempts before this one, oldest first
    int interruptions = 0;                ///< attempts that ended with the machine, since it was last queued by hand
    bool alone = false;                   ///< no other run of the experiment at the same time
    /// The config that was started, if it differs from the plan: moved to free devices next to other runs.
    std::optional<RunConfig> placed = {};
    [[nodiscard]] const RunConfig &config() const { return placed ? *placed : planned.config; }
    bool operator==(const ExperimentEntry &) const = default;
};

struct Experiment {
    std::string id, title;
    Recipe recipe; ///< complete, so that published figures and notes stay with it
    std::string reference;
    bool quick = false;
    std::string host; ///< empty: this machine
    std::string remoteAgent;
    /// Where agents on this machine are started, whoever owns the queue: relative paths of its runs are meant in it. Absolute.
    /// Empty: an older experiment, or one whose runs are on another machine; they start where the owner, or ssh, happens to be.
    std::string folder;
    std::int64_t createdWallUs = 0;
    std::vector<ExperimentEntry> entries; ///< never reordered: an index always means the same entry
    std::vector<int> order;             ///< order of the queued entries, as drawn or moved; others follow in list order
    std::uint64_t orderSeed = 0;        ///< seed of the order; 0: as listed
    std::string pausedBy;               ///< empty: the queue is not paused
    std::optional<WidthProgress> until; ///< rounds are added until intervals are narrow enough
    SideBySide sideBySide;              ///< how many runs may go at once, and on which devices
    std::vector<std::string> taken; ///< names of requests that are carried out in this, if their files are still there
    bool check = true;              ///< check devices of several nodes, and GPUs, before their first run

    [[nodiscard]] std::vector<int> queued() const; ///< waiting entries, in the order they will run
    void setQueued(const std::vector<int> &waiting) { order = waiting; }
    [[nodiscard]] bool paused() const { return !pausedBy.empty(); }
    [[nodiscard]] int runnableCount() const;
    [[nodiscard]] int overCount() const;              ///< runnable entries that are over
    [[nodiscard]] std::vector<int> currents() const;  ///< entries launching or running
    [[nodiscard]] std::optional<int> current() const; ///< the first of them
    /// Whether rounds may still be added for its goal: not once it is reached, nor after a failed or stopped run.
    [[nodiscard]] bool awaitsRounds() const;
    [[nodiscard]] bool over() const; ///< nothing queued, launching or running, and no rounds to come
};

[[nodiscard]] std::string toJson(const Experiment &experiment);
[[nodiscard]] std::string toJson(const WidthProgress &until); ///< as in the experiment's document
[[nodiscard]] Result<Experiment> experimentFromJson(std::string_view text);

struct ExperimentFolder {
    std::string path;
    [[nodiscard]] std::string json() const { return path + "/experiment.json"; }
    [[nodiscard]] std::string lock() const { return path + "/experiment.lock"; }
    [[nodiscard]] std::string requests() const { return path + "/requests"; }
    [[nodiscard]] std::string console() const { return path + "/runner.log"; }
};
[[nodiscard]] ExperimentFolder experimentFolder(std::string_view id);

/// The request to lockstep-agent that starts an entry.
[[nodiscard]] LaunchRequest requestFor(const Experiment &experiment, const ExperimentEntry &entry);
/// Why the entry's run is none of this experiment's: the record in its folder (of a run elsewhere: in its copy) names another one, or
/// none, as in a document that somebody else made. Such a run is not followed, stopped, removed or counted. Nothing while there is no record.
[[nodiscard]] std::optional<std::string> notItsRun(const Experiment &experiment, const ExperimentEntry &entry);
/// A new experiment for a plan, not yet on disk. Its folder is this process's.
[[nodiscard]] Experiment makeExperiment(const Plan &plan, const Recipe &recipe, bool quick, const CommandPrefix &where);
[[nodiscard]] Result<Experiment> readExperiment(std::string_view id);
/// Reads experiments for a list of them. A document that has many names, by links, is read for the first of them, and then only for the
/// one that it says itself. One thread.
class ExperimentReader {
public:
    [[nodiscard]] Result<Experiment> read(const std::string &id);

private:
    std::map<std::string, Result<std::string>> m_idIn; ///< what a document says, or why it can't be read, by its stamp
};
/// What writeExperiment() writes. One that readExperiment() would refuse for its size is a bad argument.
[[nodiscard]] Result<std::string> documentOf(const Experiment &experiment);
[[nodiscard]] Result<void> writeExperiment(const Experiment &experiment); ///< creates its folder; atomic
/// Writes a new experiment, after what else belongs in its folder (`first`), so that it is listed only when whole. If that
/// fails, the folder is removed again, unless it was there before.
[[nodiscard]] Result<void> createExperiment(const Experiment &experiment,
                                            const std::function<Result<void>()> &first = {});
/// Change stamp of its experiment.json: differs after each rewrite; empty without a file. Much cheaper than reading the
/// document.
[[nodiscard]] std::string experimentStamp(std::string_view id);
/// Newest first.
[[nodiscard]] std::vector<std::string> listExperiments();
/// Whether a live process of this machine owns its queue.
[[nodiscard]] bool isOwned(std::string_view id);

} // namespace lockstep::core
