// SPDX-License-Identifier: MIT
#include "launch/jobs/job_shape.h"

#include <algorithm>
#include <numeric>

#include "ipc/command_template.h"
#include "ipc/run_title.h"
#include "ipc/thousands.h"
#include "launch/torchrun_options.h"

namespace lockstep::core {

namespace {
constexpr const char *anotherRun = "ask for one node, or choose a run by ddp with --run N";
}

int JobShape::worldSize() const {
    return std::accumulate(processes.begin(), processes.end(), 0);
}

bool JobShape::even() const {
    return std::all_of(processes.begin(), processes.end(), [&](int n) { return n == processes.front(); });
}

Result<JobShape> jobShape(const RunConfig &config, int nodes) {
    if (!config.nodes.empty() && (nodes <= 1 || nodes == nodeCount(config)))
        return JobShape{processesOfNodes(config)};
    const int processes = processCount(config);
    const int wanted = std::max(1, nodes);
    if (wanted > 1 && !isDistributed(config.method))
        return fail(Error::badArgument(std::string(toString(config.method)) + " is one process on one node, but " +
                                           std::to_string(wanted) + " nodes are requested",
                                       anotherRun, "nodes"));
    if (wanted > processes)
        return fail(Error::badArgument(std::to_string(wanted) + " nodes are more than the run's " +
                                           std::to_string(processes) + (processes == 1 ? " process" : " processes"),
                                       (processes == 1 ? std::string("ask for 1 node")
                                                       : "ask for at most " + std::to_string(processes) + " nodes") +
                                           ", or choose a run of more processes with --run N",
                                       "nodes"));
    JobShape shape;
    for (int node = 0; node < wanted; ++node)
        shape.processes.push_back(processes / wanted + (node < processes % wanted ? 1 : 0));
    return shape;
}

RunConfig configOfShare(const RunConfig &config, int processes) {
    RunConfig own = config;
    own.frames.clear();
    own.summary.clear();
    own.workerCores.clear();
    own.interface.clear();
    own.nodes.clear();
    own.devices = devicesOfShare(config, processes);
    return own;
}

std::vector<std::string> devicesOfShare(const RunConfig &config, int processes) {
    std::vector<std::string> numbers;
    const int devices = isDistributed(config.method) ? processes : deviceCount(config);
    for (int i = 0; i < devices; ++i)
        numbers.push_back(std::to_string(i));
    return numbers;
}

Result<std::vector<std::string>> jobCommand(const PlannedRun &run, int processes, const std::string &checkpoints) {
    if (run.command.empty()) {
        std::vector<std::string> words =
            toArguments(withCheckpointsIn(checkpoints, configOfShare(run.config, processes)));
        words.insert(words.begin(), "lockstep-trainer");
        return words;
    }
    std::vector<std::string> words = shownCommand(run.command, run.config);
    for (const std::string &word : run.command)
        for (const char *ours : {"{scripts}", "{recipe_folder}"})
            if (word.find(ours) != std::string::npos)
                return fail(Error::badArgument(
                    commentText(run.name) + " runs a Python file of this machine (" + commentText(word) + ")",
                    "copy it to the job's machines and use its path there in the recipe's command"));
    return words;
}

std::string jobName(std::string_view title, std::size_t longest) {
    const std::string plain = plainTitle(title); // DDP on 2 devices is ddp-x2
    std::string name;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const char c = plain[i];
        const char lower = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
        if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
            name += lower;
        else if (std::string_view(plain).substr(i).starts_with("×"))
            name += 'x';
        else if (!name.empty() && name.back() != '-' && static_cast<unsigned char>(c) < 0x80)
            name += '-';
    }
    if (name.empty() || name.front() < 'a' || name.front() > 'z')
        name = "run-" + name;
    name.resize(std::min(name.size(), longest));
    while (name.ends_with('-'))
        name.pop_back();
    return name;
}

Result<void> checkJobBytes(std::size_t bytes, std::string_view run) {
    if (bytes <= mostJobBytes)
        return {};
    return fail(Error::badArgument("with " + commentText(run) + " the job's text has " +
                                       thousands(std::int64_t(bytes)) + " bytes; it may have " +
                                       thousands(std::int64_t(mostJobBytes)),
                                   "take fewer runs or nodes at a time, or shorten their commands and settings"));
}

std::string commentText(std::string_view text) {
    constexpr std::size_t longest = 200;
    std::string out;
    for (const char c : text.substr(0, longest))
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    while (!out.empty() && text.size() > longest && (static_cast<unsigned char>(out.back()) & 0x80) != 0)
        out.pop_back(); // no partial UTF-8 character
    return out;
}

} // namespace lockstep::core
