// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::core {
struct QueueOrigin;
}

namespace lockstep::cli {

/// Exit codes of all our programs.
enum Exit {
    Done = exitDone,
    Failed = exitFailed,
    BadArguments = exitBadArguments,
    Undecided = 4, ///< of check alone
    Stopped = exitStopped
};

struct RunOptions {
    std::string recipe;     ///< name, file, or "-" for stdin
    std::string experiment; ///< resume this one's queue instead
    std::string out, host, remoteAgent;
    std::string queueOn;     ///< machine that runs the queue: a node or an ssh name; empty: this one
    bool reachNodes = false; ///< first check that every node of the runs can be reached from here
    std::string tensorBoard; ///< folder for event files, written during the runs; empty: none
    std::string onAlert;     ///< the person's command for alerts; empty: that of LOCKSTEP_ON_ALERT, or none
    bool quick = false, detach = false, json = false, check = true;
    bool results = true;          ///< printed after the last run
    bool outlivesTerminal = true; ///< its runs go on when the terminal closes, and its queue can be taken up again
    std::optional<int> repeats;
    std::string untilWidth;                 ///< "5%"; empty: the recipe's goal
    std::optional<int> mostRounds;          ///< of the goal
    int sideBySide = 1;                     ///< runs at the same time, each on its own devices
    std::optional<std::uint64_t> orderSeed; ///< replaces the recipe's; 0: as listed
    std::vector<std::string> set;           ///< key=value
    std::string tried = {};                 ///< setting of which is said at the end whether it matters; empty: none
};
int runCommand(const RunOptions &options);

/// Short runs with several values of one setting (core/experiment/setting_trial.h).
struct TryOptions {
    std::string what;                       ///< recipe or run
    std::string vary = "bucket_mb=1,5,100"; ///< one setting and values besides what is set
    std::int64_t steps = 100;               ///< of an epoch
    RunOptions run;
};
int tryCommand(TryOptions options);

/// A study of somebody's own script (core/experiment/study.h).
struct StudyOptions {
    std::string script, processes = "1,2", python, device = "auto", save;
    std::vector<std::string> arguments, vary;
    std::optional<std::int64_t> maxSteps;
    int coresPerDevice = 1, trialLimitS = 600;
    bool trial = true;
    RunOptions run;
};
int studyCommand(StudyOptions options);

/// A gate for continuous integration (core/analysis/compare/gate.h).
struct CheckOptions {
    std::vector<std::string>
        what;            ///< base and new, each an experiment or runs separated by commas; with `against` a command
    std::string against; ///< "git:main" or a revision: both are run
    std::string maxSlower = "5%", junit, markdown;
    std::optional<std::int64_t> maxSteps; ///< of both
    bool oneAfterAnother = false;         ///< they don't take turns on the same cores
    bool json = false;
    RunOptions run;
};
int checkCommand(CheckOptions options);
/// Runs the queue on another machine (`options.queueOn`), so that this one may be switched off.
int queueOnCommand(const RunOptions &options);
/// Registers here an experiment whose queue is on `machine` and was started from a third one.
Result<void> knowQueueOn(const std::string &machine, const std::string &experiment);
/// Starts a new owner there for such a queue that has none.
int resumeThere(const core::QueueOrigin &origin, const RunOptions &options);
/// Internal: owns an experiment's queue in the background.
int ownCommand(const std::string &experiment);

/// The chosen runs: by id, or all that a filter accepts.
struct RunChoice {
    std::vector<std::string> runs;
    std::string filter;
};

struct ListOptions {
    std::string filter, sort, columns; ///< sort: a column; with "-" in front, largest first
    bool group = false, json = false;
};
int listCommand(const ListOptions &options);
int tagCommand(const RunChoice &choice, const std::string &tags, bool remove);
int renameCommand(const std::string &run, const std::string &name);
/// Prints the note if there is no text; "-" reads stdin.
int noteCommand(const std::string &run, const std::optional<std::string> &text);
int starCommand(const RunChoice &choice, bool off);
int deleteCommand(const RunChoice &choice, bool json);
/// Runs, or the id of a deletion; none: the latest deletion.
int restoreCommand(const std::vector<std::string> &ids, bool json);
int trashCommand(bool empty, bool json);
int diffCommand(const std::string &a, const std::string &b, bool all, bool json);

int recipesCommand(bool json);
int showCommand(const std::string &id, bool json, bool all); ///< all: every row of a large result

struct CompareOptions {
    std::vector<std::string> runs;
    std::optional<double> targetAccuracy, targetLoss; ///< also report when each reached it; accuracy 0..1
    bool json = false, all = false;
};
int compareCommand(const CompareOptions &options);

struct ExportOptions {
    std::vector<std::string> ids;
    std::string what = "results", format = "csv", out = "-";
};
int exportCommand(const ExportOptions &options);

struct AttachOptions {
    std::string id;
    std::string tensorBoard;  ///< as in RunOptions
    std::string queueOn = {}; ///< machine of its queue if started from a third one; empty: as recorded here
    bool connect = false;     ///< accept the machine and the program that its folder names
};
int attachCommand(const AttachOptions &options);
int stopCommand(const std::string &id);
int traceCommand(const std::string &run, std::int64_t steps);
int stacksCommand(const std::string &run, bool all); ///< all: of every thread, not only of the one that trains

// The commands that lockstepctl on another machine runs here (queue/queue_origin.h).
int remoteHelloCommand();
int remoteDocumentCommand(const std::string &experiment);
int remoteFollowCommand(const std::string &experiment);
int remoteAskCommand(const std::string &experiment); ///< reads the request from stdin

// Runs of a queue are numbered from 1, as `queue` shows them.
int queueCommand(const std::string &experiment, bool json);
int pauseCommand(const std::string &experiment);
int resumeCommand(const std::string &experiment);
int skipCommand(const std::string &experiment, int number);
/// No numbers: all that failed or were stopped. `alone`: no other run of the experiment runs at the same time.
int retryCommand(const std::string &experiment, std::vector<int> numbers, bool alone);
/// Whole rounds: every run so many times more.
int repeatCommand(const std::string &experiment, int rounds);
int moveCommand(const std::string &experiment, int number, int place);
/// Starts an owner for a queue without one, after runs were queued again or the queue was resumed.
int goOn(const std::string &experiment);
/// Queues a further run: like `options.like` (its number; 0: the reference) with `set` changed.
struct AddOptions {
    std::string experiment, name;
    int like = 0;
    std::optional<int> repeats; ///< absent: as often as the run it is based on
    std::vector<std::string> set;
};
int addCommand(const AddOptions &options);

struct LabOptions {
    std::string ranks; ///< "2", "2,4", "2..4"; empty: 2 to as many as there are
    std::string nodes; ///< in a run's notation; empty: this machine
    std::string backend = "auto", device = "cpu", id;
    int coresPerDevice = 1;
    bool quick = false, json = false, oversubscribe = false, list = false, show = false;
};
int labCommand(const LabOptions &options);

struct ForecastOptions {
    std::string what;  ///< recipe, run or experiment
    std::string lab;   ///< empty: the newest
    std::string nodes; ///< in a run's notation: the same as "nodes=…" among `set`
    std::vector<std::string> set;
    std::string devices; ///< "2,4,8"; empty: the recipe's
    bool json = false;
    bool show = false; ///< show the newest one (of `what`, if given) next to the measured results
};
int forecastCommand(const ForecastOptions &options);

struct GetDataOptions {
    std::string dataset, folder, manifest;
    std::vector<std::string> mirrors; ///< tried before the known ones
};
int getDataCommand(const GetDataOptions &options);
/// Creates a Python environment with a line's pinned PyTorch under LOCKSTEP_HOME; empty: the first line.
int setUpTorchCommand(const std::string &version);

} // namespace lockstep::cli
