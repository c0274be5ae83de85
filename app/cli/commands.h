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

/// Exit codes of every program of the house.
enum Exit { Done = exitDone, Failed = exitFailed, BadArguments = exitBadArguments, Stopped = exitStopped };

struct RunOptions {
    std::string recipe;     ///< name, file, or "-" for stdin
    std::string experiment; ///< take up this one's queue instead
    std::string out, host, remoteAgent;
    std::string queueOn;     ///< machine that keeps the queue, of the list of nodes or as ssh knows it; empty: this one
    bool reachNodes = false; ///< see that every node of the runs can be reached from here before anything starts
    std::string tensorBoard; ///< folder for event files, written while the runs go on; empty: none
    bool quick = false, detach = false, json = false, check = true;
    std::optional<int> repeats;
    int sideBySide = 1;                     ///< runs that may go at once, on devices of their own
    std::optional<std::uint64_t> orderSeed; ///< replaces the recipe's; 0: as listed
    std::vector<std::string> set;           ///< key=value
};
int runCommand(const RunOptions &options);
/// With its queue on another machine (`options.queueOn`), which keeps it while this one is away.
int queueOnCommand(const RunOptions &options);
/// Makes an experiment known here whose queue lives on `machine` and was begun from elsewhere.
Result<void> knowQueueOn(const std::string &machine, const std::string &experiment);
/// Gives such a queue, whose owner is gone, a new one there.
int takeUpThere(const core::QueueOrigin &origin, const RunOptions &options);
/// Internal: owns an experiment's queue in the background.
int ownCommand(const std::string &experiment);

/// Which runs: named, or all that a filter accepts.
struct RunChoice {
    std::vector<std::string> runs;
    std::string filter;
};

struct ListOptions {
    std::string filter, sort, columns; ///< sort: a column, "-" before it: largest first
    bool group = false, json = false;
};
int listCommand(const ListOptions &options);
int tagCommand(const RunChoice &choice, const std::string &tags, bool remove);
int renameCommand(const std::string &run, const std::string &name);
/// Without a text it prints the note; "-" reads stdin.
int noteCommand(const std::string &run, const std::optional<std::string> &text);
int starCommand(const RunChoice &choice, bool off);
int deleteCommand(const RunChoice &choice, bool json);
/// Runs, or what was deleted together; none: what was deleted last.
int restoreCommand(const std::vector<std::string> &ids, bool json);
int trashCommand(bool empty, bool json);
int diffCommand(const std::string &a, const std::string &b, bool all, bool json);

int recipesCommand(bool json);
int showCommand(const std::string &id, bool json, bool all); ///< all: every row of a large result

struct CompareOptions {
    std::vector<std::string> runs;
    std::optional<double> targetAccuracy, targetLoss; ///< also tell when each got there; accuracy 0..1
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
    std::string queueOn = {}; ///< where its queue lives, when it was begun from elsewhere; empty: as is known here
};
int attachCommand(const AttachOptions &options);
int stopCommand(const std::string &id);
int traceCommand(const std::string &run, std::int64_t steps);

// What lockstepctl on another machine asks of this one (launch/queue_origin.h).
int remoteHelloCommand();
int remoteDocumentCommand(const std::string &experiment);
int remoteFollowCommand(const std::string &experiment);
int remoteAskCommand(const std::string &experiment); ///< the request comes on stdin

// Runs of a queue are numbered from 1, as `queue` shows them.
int queueCommand(const std::string &experiment, bool json);
int pauseCommand(const std::string &experiment);
int resumeCommand(const std::string &experiment);
int skipCommand(const std::string &experiment, int number);
/// No numbers: all that failed or were stopped. `alone`: no other run of the experiment goes beside these.
int retryCommand(const std::string &experiment, std::vector<int> numbers, bool alone);
int moveCommand(const std::string &experiment, int number, int place);
/// Gives a queue an owner that has none: what was queued again, or may go on, wants one.
int goOn(const std::string &experiment);
/// Queues a further run: as `options.like` (its number; 0: the reference) with `set` changed.
struct AddOptions {
    std::string experiment, name;
    int like = 0;
    std::optional<int> repeats; ///< absent: as often as the run that it is like
    std::vector<std::string> set;
};
int addCommand(const AddOptions &options);

struct LabOptions {
    std::string ranks; ///< "2", "2,4", "2..4"; empty: 2 to as many as there are
    std::string nodes; ///< as a run's; empty: this machine
    std::string backend = "auto", device = "cpu", id;
    int coresPerDevice = 1;
    bool quick = false, json = false, oversubscribe = false, list = false, show = false;
};
int labCommand(const LabOptions &options);

struct ForecastOptions {
    std::string what;  ///< recipe, run or experiment
    std::string lab;   ///< empty: the newest
    std::string nodes; ///< as a run's: the same as "nodes=…" among `set`
    std::vector<std::string> set;
    std::string devices; ///< "2,4,8"; empty: those of the recipe
    bool json = false;
    bool show = false; ///< the newest one, of `what` if it is given, again with what came out
};
int forecastCommand(const ForecastOptions &options);

struct GetDataOptions {
    std::string dataset, folder, manifest;
    std::vector<std::string> mirrors; ///< tried before the known ones
};
int getDataCommand(const GetDataOptions &options);
/// Makes a Python environment with the pinned PyTorch of a line under the data home, for lockstep-trainer; empty: the first line's.
int setUpTorchCommand(const std::string &version);

} // namespace lockstep::cli
