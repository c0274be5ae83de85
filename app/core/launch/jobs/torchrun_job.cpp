// SPDX-License-Identifier: MIT
#include "base/command_prefix.h"
#include "ipc/command_template.h"
#include "launch/jobs/exported_job.h"

namespace lockstep::core {
namespace {

std::string shellLine(const std::vector<std::string> &words) {
    std::string line;
    for (const std::string &word : words)
        line += (line.empty() ? "" : " ") + quoteForShell(word);
    return line;
}

/// torchrun and its options on this node; nothing for a method of one process. `python`: torchrun starts Python
/// for the script with which the command then begins.
std::vector<std::string> launcherOn(int node, const JobShape &shape, const RunConfig &config, const JobPlace &place,
                                    bool python) {
    if (!isDistributed(config.method))
        return {};
    std::vector<std::string> words = {"torchrun"};
    if (!python)
        words.emplace_back("--no-python");
    TorchrunPlace here{
        shape.nodes(), std::to_string(node), shape.processes[std::size_t(node)], place.masterAddress, {}};
    if (!place.masterAddress.empty() || place.masterPort != JobPlace().masterPort)
        here.port = place.masterPort;
    for (const auto &[flag, value] : torchrunOptions(config, here)) {
        words.push_back(flag);
        if (!value.empty())
            words.push_back(value);
    }
    return words;
}

constexpr std::string_view devicesFlag = "--devices=";

/// The line's end that only this node has: lockstep-trainer's devices. A script has the same words on every node.
std::string ownDevices(const PlannedRun &run, int processes) {
    std::string line;
    if (run.command.empty())
        for (const std::string &device : devicesOfShare(run.config, processes))
            line += (line.empty() ? " " + std::string(devicesFlag) : ",") + device;
    return line;
}

Result<std::string> linesOfNodes(const PlannedRun &run, const JobShape &shape, const JobPlace &place,
                                 std::vector<std::string> command, bool python) {
    if (run.command.empty())
        std::erase_if(command, [](const std::string &word) { return word.starts_with(devicesFlag); });
    const std::string title = "# " + commentText(run.name);
    std::string text =
        title + ": each node runs this definition and its own line\ncommand=(" + shellLine(command) + ")\n";
    for (int node = 0; node < shape.nodes(); ++node) {
        text += title + ", on node " + std::to_string(node) + "\n";
        text += shellLine(launcherOn(node, shape, run.config, place, python)) + " \"${command[@]}\"";
        text += ownDevices(run, shape.processes[std::size_t(node)]) + "\n";
        if (const auto fits = checkJobBytes(text.size(), run.name); !fits)
            return fail(fits.error());
    }
    return text;
}

} // namespace

Result<std::string> torchrunLines(const PlannedRun &run, const JobPlace &place) {
    const auto shape = jobShape(run.config, place.nodes);
    if (!shape)
        return fail(shape.error());
    if (shape->nodes() > 1 && place.masterAddress.empty())
        return fail(Error::badArgument("the " + std::to_string(shape->nodes()) + " nodes need node 0's address",
                                       "give its name or address: --master-addr HOST", "master_addr"));
    const std::string checkpoints =
        torchrunRestarts(run.config, shape->nodes())
            ? (place.name.empty() ? jobName("lockstep-" + run.name) : place.name) + "-checkpoints"
            : std::string();
    auto command = jobCommand(run, shape->processes.front(), checkpoints);
    if (!command)
        return fail(command.error());
    const bool python = isDistributed(run.config.method) && pythonScript(*command) == std::size_t(1);
    if (python)
        command->erase(command->begin()); // torchrun starts Python itself
    const std::string frames =
        place.frames.empty() ? std::string() : "export LOCKSTEP_FRAMES=" + quoteForShell(place.frames) + "\n";
    if (shape->nodes() > 1) {
        const auto lines = linesOfNodes(run, *shape, place, std::move(*command), python);
        return lines ? Result<std::string>(frames + *lines) : lines;
    }
    std::vector<std::string> words = launcherOn(0, *shape, run.config, place, python);
    words.insert(words.end(), command->begin(), command->end());
    return frames + "# " + commentText(run.name) + "\n" + shellLine(words) + "\n";
}

} // namespace lockstep::core
