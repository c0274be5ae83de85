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

} // namespace

Result<std::string> torchrunLines(const PlannedRun &run, const JobPlace &place) {
    const auto shape = jobShape(run.config, place.nodes);
    if (!shape)
        return fail(shape.error());
    const bool ddp = isDistributed(run.config.method);
    if (shape->nodes() > 1 && place.masterAddress.empty())
        return fail(Error::badArgument("the " + std::to_string(shape->nodes()) + " nodes need node 0's address",
                                       "give its name or address: --master-addr HOST", "master_addr"));
    const std::string checkpoints =
        torchrunRestarts(run.config, shape->nodes())
            ? (place.name.empty() ? jobName("lockstep-" + run.name) : place.name) + "-checkpoints"
            : std::string();
    std::string text;
    if (!place.frames.empty())
        text += "export LOCKSTEP_FRAMES=" + quoteForShell(place.frames) + "\n";
    for (int node = 0; node < shape->nodes(); ++node) {
        const int processes = shape->processes[std::size_t(node)];
        auto command = jobCommand(run, processes, checkpoints);
        if (!command)
            return fail(command.error());
        text += "# " + commentText(run.name) +
                (shape->nodes() > 1 ? ", on node " + std::to_string(node) : std::string()) + "\n";
        std::vector<std::string> words;
        if (ddp) {
            words = {"torchrun"};
            if (pythonScript(*command) == std::size_t(1))
                command->erase(command->begin()); // torchrun starts Python itself
            else
                words.emplace_back("--no-python");
            TorchrunPlace here{shape->nodes(), std::to_string(node), processes, place.masterAddress, {}};
            if (!place.masterAddress.empty() || place.masterPort != JobPlace().masterPort)
                here.port = place.masterPort;
            for (const auto &[flag, value] : torchrunOptions(run.config, here)) {
                words.push_back(flag);
                if (!value.empty())
                    words.push_back(value);
            }
        }
        words.insert(words.end(), command->begin(), command->end());
        text += shellLine(words) + "\n";
    }
    return text;
}

} // namespace lockstep::core
