// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "nodes/ssh_questions.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

struct NodesOptions {
    std::vector<std::string> names, datasets;
    std::string host, agent, interface, partition, line;
    int times = 0; ///< watch: lines to print; 0: until interrupted
    bool local = false, untried = false, torch = false, tar = false, json = false, interfaceGiven = false;
};
int nodesListCommand(bool json);
int nodesAddCommand(const NodesOptions &options);
int nodesSetCommand(const NodesOptions &options);
int nodesRemoveCommand(const NodesOptions &options);
int nodesShowCommand(const NodesOptions &options);
int nodesWatchCommand(const NodesOptions &options);
int nodesSyncCommand(const NodesOptions &options);

struct DoctorCommandOptions {
    std::vector<std::string> names, commands;
    std::string dataset, dataFolder;
    std::optional<int> port;
    double bandwidthS = 1;
    bool json = false, keep = true;
};
int doctorCommand(const DoctorCommandOptions &options);

/// ssh asks on the terminal, if there is one.
[[nodiscard]] core::SshAnswers terminalAnswers();

/// Adds `nodes`, `doctor` and the hidden `askpass`.
void addNodes(CLI::App &app, NodesOptions &nodes, DoctorCommandOptions &doctor, int &exitCode);

} // namespace lockstep::cli
