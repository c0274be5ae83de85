// SPDX-License-Identifier: MIT
#include "launch/torchrun_command.h"

#include "base/command_prefix.h"
#include "experiment/plan.h"
#include "ipc/command_template.h"
#include "ipc/printable.h"
#include "ipc/thousands.h"
#include "launch/torchrun_options.h"
#include "nodes/torchrun_lines.h"

namespace lockstep::core {
namespace {

std::string hexEscape(char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

/// As quoteForShell(), to be read and pasted: characters that turn the direction of writing would hide what is run, so their bytes
/// stand there as bash and zsh read them.
std::string shownForShell(std::string_view word) {
    const std::string quoted = quoteForShell(word); // in single quotes if it has such characters
    std::string out;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
        const std::size_t turns = turnsDirection(std::string_view(quoted).substr(i));
        if (turns == 0) {
            out += quoted[i];
            continue;
        }
        out += "'$'";
        for (const std::size_t end = i + turns; i < end; ++i)
            out += hexEscape(quoted[i]);
        out += "''";
        --i;
    }
    return out;
}

/// " --nproc-per-node 2"
std::string optionsOf(const RunConfig &config, const TorchrunPlace &place) {
    std::string text;
    for (const auto &[flag, value] : torchrunOptions(config, place))
        text += " " + flag + (value.empty() ? "" : " " + shownForShell(value));
    return text;
}

TorchrunPlace onOneNode(const RunConfig &config) {
    return {1, {}, processCount(config), {}, {}};
}

/// With torchrun's usual port; our own agents use a free one.
std::string torchrunOnNode(const RunConfig &config, int node) {
    const NodePlace &first = config.nodes.front();
    const std::string master = !first.address.empty() ? first.address : first.host.empty() ? "127.0.0.1" : first.host;
    const TorchrunPlace place{int(config.nodes.size()), std::to_string(node),
                              processesOfNodes(config)[std::size_t(node)], master, torchrunPort};
    std::string command = "torchrun --no-python" + optionsOf(config, place) + " lockstep-trainer";
    for (const std::string &argument : toArguments(configOfNode(config, node)))
        command += " " + shownForShell(argument);
    return command;
}

} // namespace

std::string torchrunCommand(const RunConfig &config) {
    if (config.nodes.size() > 1) { // one command per node
        const std::size_t all = config.nodes.size(), shown = all > mostNodesInFull ? nodesOfVeryMany : all;
        std::string commands;
        for (std::size_t node = 0; node < shown; ++node)
            commands += (node > 0 ? "\n" : "") + torchrunOnNode(config, int(node));
        if (shown < all)
            commands += "\n# and on " + thousands(all - shown) +
                        " more nodes: lockstepctl export-job --to torchrun writes them all";
        return commands;
    }
    std::string command;
    if (isDistributed(config.method))
        command = "torchrun --no-python" + optionsOf(config, onOneNode(config)) + " ";
    command += "lockstep-trainer";
    for (const std::string &argument :
         toArguments(withCheckpointsIn(torchrunRestarts(config, 1) ? "lockstep-checkpoints" : "", config)))
        command += " " + shownForShell(argument);
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
                  optionsOf(run.config, onOneNode(run.config)) + " ";
    for (const std::string &word : words)
        command += (&word == words.data() ? "" : " ") + shownForShell(word);
    return command;
}

} // namespace lockstep::core
