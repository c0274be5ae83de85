// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nodes/torchrun_lines.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// The runs that become jobs.
struct JobRunsOptions {
    std::string what;             ///< recipe, recipe file, "-" for stdin, run or experiment
    std::vector<std::string> set; ///< key=value
    bool quick = false;
    std::optional<int> repeats;
    int nodes = 1, gpus = -1, cores = 0; ///< gpus, cores: of the whole job, for recipes that use all
    int number = 0;                      ///< only this run, from 1; 0: all
};

struct SlurmOptions {
    std::string partition, account, qos, constraint, time, gres, interface, agent;
    int atOnce = 0;
    std::vector<int> tasksPerNode;
    std::vector<std::string> extra;
};

struct ExportJobOptions {
    JobRunsOptions runs;
    SlurmOptions slurm;
    std::string to, out = "-";
    std::string masterAddress, frames, image, nameSpace, claim, mount = "/shared", framesSecret;
    int masterPort = core::torchrunPort;
};
int exportJobCommand(const ExportJobOptions &options);

struct SlurmCommandOptions {
    JobRunsOptions runs;
    SlurmOptions slurm;
    std::string id, out = "-";
    std::string onAlert; ///< the person's command for alerts; empty: that of LOCKSTEP_ON_ALERT, or none
    bool save = false, detach = false, json = false;
};
int slurmScriptCommand(const SlurmCommandOptions &options);
int slurmSubmitCommand(const SlurmCommandOptions &options);
int slurmListCommand(bool json);
int slurmCancelCommand(const std::string &id);
int slurmFollowCommand(const std::string &id);
/// Internal: records the state of an experiment in Slurm until it is over.
int slurmOwnCommand(const std::string &id);

struct ListenOptions {
    std::string port, interface, socket, tokenFile, name;
    int ranks = 0;
    double patienceS = 0;
};
/// Follows the frame files in a folder, or one file.
struct FollowFilesOptions {
    std::string path, name;
    int ranks = 0;
    bool import = false; ///< read what is there, then exit
};
int listenCommand(const ListenOptions &options);
int followFilesCommand(const FollowFilesOptions &options);

struct JobCommandsOptions {
    ExportJobOptions exported;
    SlurmCommandOptions slurm;
    ListenOptions listen;
    FollowFilesOptions files;
};
/// Adds export-job, slurm, listen and follow; `options` must outlive the parsing.
void addJobs(CLI::App &app, JobCommandsOptions &options, int &exitCode);

} // namespace lockstep::cli
