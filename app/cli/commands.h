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

int attachCommand(const std::string &id);
int stopCommand(const std::string &id);

// Runs of a queue are numbered from 1, as `queue` shows them.
int queueCommand(const std::string &experiment, bool json);
int pauseCommand(const std::string &experiment);
int resumeCommand(const std::string &experiment);
int skipCommand(const std::string &experiment, int number);
int retryCommand(const std::string &experiment, std::vector<int> numbers); ///< none: all that failed or were stopped
int moveCommand(const std::string &experiment, int number, int place);

struct GetDataOptions {
    std::string dataset, folder, manifest;
    std::vector<std::string> mirrors; ///< tried before the known ones
};
int getDataCommand(const GetDataOptions &options);

} // namespace lockstep::cli
