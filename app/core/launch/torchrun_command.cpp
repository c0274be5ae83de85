// What torchrun would run for the same.
#include "ipc/command_template.h"
#include "launch/command_prefix.h"
#include "launch/plan.h"

namespace lockstep::core {
namespace {

/// With the address and port that a person would choose; our own agents take a free port.
std::string torchrunOnNode(const RunConfig &config, int node) {
    const NodePlace &first = config.nodes.front();
    const std::string master = !first.address.empty() ? first.address : first.host.empty() ? "127.0.0.1" : first.host;
    std::string command = "torchrun --no-python --nnodes " + std::to_string(config.nodes.size()) + " --node-rank " +
                          std::to_string(node) + " --nproc-per-node " +
                          std::to_string(processesOfNodes(config)[std::size_t(node)]) + " --master-addr " +
                          quoteForShell(master) + " --master-port 29500 lockstep-trainer";
    for (const std::string &argument : toArguments(configOfNode(config, node)))
        command += " " + quoteForShell(argument);
    return command;
}

} // namespace

std::string torchrunCommand(const RunConfig &config) {
    if (config.nodes.size() > 1) { // one a node, to be started on each
        std::string commands;
        for (std::size_t node = 0; node < config.nodes.size(); ++node)
            commands += (node > 0 ? "\n" : "") + torchrunOnNode(config, int(node));
        return commands;
    }
    std::string command;
    if (isDistributed(config.method))
        command = "torchrun --no-python --nproc-per-node " + std::to_string(processCount(config)) + " ";
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
        words.erase(words.begin()); // torchrun brings its own
    std::string command;
    if (isDistributed(run.config.method))
        command = "torchrun " + std::string(ownPython ? "" : "--no-python ") + "--nproc-per-node " +
                  std::to_string(processCount(run.config)) + " ";
    for (const std::string &word : words)
        command += (&word == words.data() ? "" : " ") + quoteForShell(word);
    return command;
}

} // namespace lockstep::core
