#pragma once
#include <optional>
#include <string>
#include <vector>

namespace lockstep::cli {

/// Exit codes of every program of the house.
enum Exit { Done = 0, Failed = 1, BadArguments = 2, Stopped = 130 };

struct RunOptions {
    std::string recipe;     ///< name, file, or "-" for stdin
    std::string experiment; ///< take up this one's queue instead
    std::string out, host, remoteAgent;
    std::string tensorBoard; ///< folder for event files, written while the runs go on; empty: none
    bool quick = false, detach = false, json = false;
    std::optional<int> repeats;
    std::vector<std::string> set; ///< key=value
};
int runCommand(const RunOptions &options);
/// Internal: owns an experiment's queue in the background.
int ownCommand(const std::string &experiment);

int listCommand(bool json);
int recipesCommand(bool json);
int showCommand(const std::string &id, bool json);
int compareCommand(const std::vector<std::string> &runs, bool json);

struct ExportOptions {
    std::vector<std::string> ids;
    std::string what = "results", format = "csv", out = "-";
};
int exportCommand(const ExportOptions &options);

struct AttachOptions {
    std::string id;
    std::string tensorBoard; ///< as in RunOptions
};
int attachCommand(const AttachOptions &options);
int stopCommand(const std::string &id);

/// Makes a Python environment with the pinned PyTorch under the data home, for lockstep-trainer.
int setUpTorchCommand();

} // namespace lockstep::cli
