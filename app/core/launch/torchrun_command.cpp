// SPDX-License-Identifier: MIT
#include "launch/torchrun_command.h"

#include "base/command_prefix.h"
#include "experiment/plan.h"
#include "ipc/command_template.h"

namespace lockstep::core {
namespace {

/// " --nproc-per-node 2 --max-restarts 1"
std::string numbersOf(const RunConfig &config, int processes) {
    return " --nproc-per-node " + std::to_string(processes) +
           (config.maxRestarts > 0 ? " --max-restarts " + std::to_string(config.maxRestarts) : std::string());
}

/// With torchrun's usual port; our own agents use a free one.
std::string torchrunOnNode(const RunConfig &config, int node) {
    const NodePlace &first = config.nodes.front();
    const std::string master = !first.address.empty() ? first.address : first.host.empty() ? "127.0.0.1" : first.host;
    std::string command = "torchrun --no-python --nnodes " + std::to_string(config.nodes.size()) + " --node-rank " +
                          std::to_string(node) + numbersOf(config, processesOfNodes(config)[std::size_t(node)]) +
                          " --master-addr " + quoteForShell(master) + " --master-port 29500 lockstep-trainer";
    for (const std::string &argument : toArguments(configOfNode(config, node)))
        command += " " + quoteForShell(argument);
    return command;
}

} // namespace

std::string torchrunCommand(const RunConfig &config) {
    if (config.nodes.size() > 1) { // one command per node
        std::string commands;
        for (std::size_t node = 0; node < config.nodes.size(); ++node)
            commands += (node > 0 ? "\n" : "") + torchrunOnNode(config, int(node));
        return commands;
    }
    std::string command;
    if (isDistributed(config.method))
        command = "torchrun --no-python" + numbersOf(config, processCount(config)) + " ";
    command += "lockstep-trainer";
    for (const std::string &argument : toArguments(config))
        command += " " + quoteForShell(argument);
    return command;
}

std::string torchrunCommand(const PlannedRun &run) {
    if (run.command.empty())
        return torchrunCommand(run.config);
    std::vector<std::string> words =
        shownCommand(run.command, run.config, findScripts().value_or(std::string("{scripts}")));
    const bool ownPython = isDistributed(run.config.method) && pythonScript(run.command) == std::size_t(1);
    if (ownPython)
        words.erase(words.begin()); // torchrun starts Python itself
    std::string command;
    if (isDistributed(run.config.method))
        command = std::string("torchrun") + (ownPython ? "" : " --no-python") +
                  numbersOf(run.config, processCount(run.config)) + " ";
    for (const std::string &word : words)
        command += (&word == words.data() ? "" : " ") + quoteForShell(word);
    return command;
}

} // namespace lockstep::core
