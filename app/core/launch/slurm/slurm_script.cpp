#include "launch/slurm/slurm_script.h"

#include <algorithm>

#include "launch/jobs/job_shape.h"

namespace lockstep::core {
namespace {

/// #SBATCH lines are no shell: what could end a word or a line there is refused, not quoted.
Result<void> checkWord(const char *what, std::string_view value) {
    constexpr std::string_view others = "_-.,:+@%/=[]&|*()";
    const bool plain = std::all_of(value.begin(), value.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
    if (plain)
        return {};
    return fail(Error::badArgument(std::string(what) + " \"" + commentText(value) +
                                       "\" is refused: only letters, digits and " + std::string(others) +
                                       " may stand in it",
                                   "give it as sinfo, sacctmgr or sbatch's manual spell it", what));
}

Result<void> checkPlace(const SlurmPlace &place) {
    const std::pair<const char *, const std::string &> words[] = {
        {"partition", place.partition},   {"account", place.account}, {"qos", place.qos},
        {"constraint", place.constraint}, {"time", place.time},       {"gres", place.gres},
        {"interface", place.interface}};
    for (const auto &[what, value] : words)
        if (const auto good = checkWord(what, value); !good)
            return good;
    const bool plainInterface = place.interface.find_first_of("%/=[]&|*(),+@") == std::string::npos;
    if (!plainInterface || place.interface.size() > 15)
        return fail(Error::badArgument("\"" + commentText(place.interface) + "\" is no name of a network interface",
                                       "ip address lists them", "interface"));
    for (const std::string &option : place.extra) {
        if (!option.starts_with('-'))
            return fail(Error::badArgument("\"" + commentText(option) + "\" is no option of sbatch",
                                           "write it like --exclusive or --mem=4G", "option"));
        if (const auto good = checkWord("option", option); !good)
            return good;
    }
    return {};
}

/// Cores that one node's processes of a run take.
int coresOfNode(const RunConfig &config, int processes) {
    const int devices = config.method == Method::Ddp ? processes : deviceCount(config);
    const int training = config.device == "cpu" ? devices * config.coresPerDevice : processes;
    return training + processes * config.workers;
}

struct Needs {
    int cores = 1, gpus = 0, nodes = 1;
};

Result<JobShape> shapeOf(const SlurmTask &task, const SlurmPlace &place) {
    const RunConfig &config = task.planned.config;
    const int processes = processCount(config);
    const bool ddp = config.method == Method::Ddp;
    const auto shape = jobShape(config, ddp ? std::min(place.nodes, processes) : 1);
    if (shape && !shape->even())
        return fail(Error::badArgument(std::to_string(processes) + " ranks of " + commentText(task.planned.name) +
                                           " can't be shared evenly among " + std::to_string(shape->nodes()) + " nodes",
                                       "ask for a number of nodes that divides the ranks", "nodes"));
    return shape;
}

Result<Needs> needsOf(const std::vector<SlurmTask> &tasks, const SlurmPlace &place) {
    Needs needs;
    for (const SlurmTask &task : tasks) {
        const auto shape = shapeOf(task, place);
        if (!shape)
            return fail(shape.error());
        const RunConfig &config = task.planned.config;
        const int processes = shape->processes.front();
        needs.nodes = std::max(needs.nodes, shape->nodes());
        needs.cores = std::max(needs.cores, coresOfNode(config, processes));
        if (config.device == "cuda")
            needs.gpus = std::max(needs.gpus, config.method == Method::Ddp ? processes : deviceCount(config));
    }
    return needs;
}

std::string homeOf(const SlurmPlace &place) {
    return place.home.empty() ? dataHome() : place.home;
}

std::string header(const std::vector<SlurmTask> &tasks, const SlurmPlace &place, const Needs &needs) {
    std::string text = "#!/bin/bash\n";
    const auto option = [&](const std::string &words) { text += "#SBATCH " + words + "\n"; };
    option("--job-name=" + jobName(tasks.size() == 1 || tasks.front().recipe.empty()
                                       ? "lockstep-" + tasks.front().planned.name
                                       : "lockstep-" + tasks.front().recipe));
    const std::pair<const char *, const std::string &> chosen[] = {{"--partition=", place.partition},
                                                                   {"--account=", place.account},
                                                                   {"--qos=", place.qos},
                                                                   {"--constraint=", place.constraint},
                                                                   {"--time=", place.time}};
    for (const auto &[name, value] : chosen)
        if (!value.empty())
            option(name + value);
    option("--nodes=" + std::to_string(needs.nodes));
    option("--ntasks-per-node=1"); // an agent a node; the ranks are its children
    option("--cpus-per-task=" + std::to_string(needs.cores));
    if (!place.gres.empty() || needs.gpus > 0)
        option("--gres=" + (place.gres.empty() ? "gpu:" + std::to_string(needs.gpus) : place.gres));
    option("--signal=TERM@60"); // to the agents: a checkpoint before the time is up
    option("--requeue");
    option("--open-mode=append");
    if (tasks.size() > 1)
        option("--array=0-" + std::to_string(tasks.size() - 1) +
               (place.atOnce > 0 ? "%" + std::to_string(place.atOnce) : std::string()));
    for (const std::string &word : place.extra)
        option(word);
    return text;
}

/// A task's branch: run id, number of nodes, and what follows `lockstep-agent run` on every node.
Result<std::string> branch(const SlurmTask &task, std::size_t number, const SlurmPlace &place) {
    const auto shape = shapeOf(task, place);
    if (!shape)
        return fail(shape.error());
    PlannedRun own = task.planned;
    if (own.command.empty() && own.config.checkpointDir.empty()) {
        own.config.checkpointDir = slurmCheckpoints(place, task.run);
        own.config.resume = true;
    }
    const int processes = shape->processes.front();
    auto command = jobCommand(own, processes);
    if (!command)
        return fail(command.error());
    const bool several = shape->nodes() > 1;
    if (several && place.interface.empty())
        return fail(Error::badArgument(commentText(own.name) + " runs on " + std::to_string(shape->nodes()) +
                                           " nodes, and the network interface between them is not named",
                                       "give it: --interface IF; on a node, ip address lists them", "interface"));
    std::vector<std::string> words = {
        "--nproc-per-node", std::to_string(own.config.method == Method::Ddp ? processes : 1), "--name", own.name};
    const auto add = [&](const char *flag, const std::string &value) {
        if (!value.empty())
            words.insert(words.end(), {flag, value});
    };
    add("--experiment", task.experiment);
    add("--recipe", task.recipe);
    if (!task.experiment.empty())
        add("--repeat", std::to_string(own.repeat));
    if (several)
        add("--interface", place.interface);
    words.emplace_back("--");
    words.insert(words.end(), command->begin(), command->end());
    std::string text = std::to_string(number) + ") # " + commentText(own.name);
    if (own.repeats > 1)
        text += " (" + std::to_string(own.repeat) + " of " + std::to_string(own.repeats) + ")";
    text += "\n    run=" + quoteForShell(task.run) + " nodes=" + std::to_string(shape->nodes());
    const bool ours = task.planned.command.empty() && task.planned.config.checkpointDir.empty();
    text += " checkpoints=" + (ours ? quoteForShell(own.config.checkpointDir) : std::string());
    std::string devices; // of every node, for lockstep-trainer, which counts those of all
    for (int i = 0; several && own.command.empty() && i < processes; ++i)
        devices += (i > 0 ? "," : "") + std::to_string(i);
    text += " devices=" + devices + "\n    set --";
    for (const std::string &word : words)
        text += " " + quoteForShell(word);
    return text + "\n    ;;\n";
}

} // namespace

std::string slurmCheckpoints(const SlurmPlace &place, std::string_view run) {
    return homeOf(place) + "/checkpoints/" + std::string(run.substr(run.rfind('-') + 1));
}

bool isAttemptOf(std::string_view run, std::string_view first) {
    return isRunId(run) && isRunId(first) && run.substr(run.rfind('-')) == first.substr(first.rfind('-'));
}

std::vector<SlurmTask> slurmTasks(const Experiment &experiment) {
    std::vector<SlurmTask> tasks;
    for (const int index : experiment.queued()) {
        const ExperimentEntry &entry = experiment.entries[std::size_t(index)];
        tasks.push_back(
            {entry.planned, entry.run.empty() ? makeRunId() : entry.run, experiment.id, experiment.recipe.name});
    }
    return tasks;
}

std::vector<SlurmTask> slurmTasks(const std::vector<PlannedRun> &runs) {
    std::vector<SlurmTask> tasks;
    for (const PlannedRun &run : runs)
        tasks.push_back({run, makeRunId(), {}, {}});
    return tasks;
}

Result<std::string> slurmScript(const std::vector<SlurmTask> &tasks, const SlurmPlace &place) {
    if (tasks.empty())
        return fail(Error::badArgument("there is no run to submit", "choose a recipe with a run that can run"));
    if (const auto good = checkPlace(place); !good)
        return fail(good.error());
    const auto needs = needsOf(tasks, place);
    if (!needs)
        return fail(needs.error());
    std::string text = header(tasks, place, *needs);
    text += "# Written by Lockstep; edit it as you like. All nodes must see LOCKSTEP_HOME: run folders lie there.\n"
            "set -u\n"
            "export LOCKSTEP_HOME=" +
            quoteForShell(homeOf(place)) + "\ncase \"${SLURM_ARRAY_TASK_ID:-0}\" in\n";
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto one = branch(tasks[i], i, place);
        if (!one)
            return fail(one.error());
        text += *one;
    }
    text +=
        "*)\n    echo \"there is no run number $SLURM_ARRAY_TASK_ID in this script\" >&2\n    exit 2\n    ;;\nesac\n";
    // The clock alone would give two array tasks that are requeued together one name; the digits tell them apart.
    text +=
        "# A requeued job goes on from its checkpoint, as a run of its own: the same digits after the dash.\n"
        "if [ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ]; then run=\"$(date -u +%Y%m%dT%H%M%SZ)-${run##*-}\"; fi\n"
        "# scancel and the end of the time ask the agents, whose ranks write a checkpoint; this shell waits for them.\n"
        "trap : TERM\n";
    if (!place.interface.empty())
        text += "if [ -n \"$devices\" ]; then\n"
                "    places=\n"
                "    for host in $(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n \"$nodes\"); do\n"
                "        places=\"${places:+$places;}$host%" +
                place.interface +
                ":$devices\"\n"
                "    done\n"
                "    set -- \"$@\" \"--nodes=$places\"\n"
                "fi\n";
    text += "srun --nodes=\"$nodes\" --ntasks=\"$nodes\" --ntasks-per-node=1 --wait=0 --kill-on-bad-exit=0 bash -c '\n"
            "    agent=\"$1\" run=\"$2\" nodes=\"$3\"\n"
            "    shift 3\n"
            "    exec \"$agent\" run --run-id \"$run\" --nnodes \"$nodes\" --node-rank \"$SLURM_NODEID\" \"$@\"\n"
            "' lockstep " +
            quoteForShell(place.agent) +
            " \"$run\" \"$nodes\" \"$@\"\n"
            "code=$?\n"
            "if [ \"$code\" -eq 0 ] && [ -n \"$checkpoints\" ]; then rm -rf -- \"$checkpoints\"; fi\n"
            "exit \"$code\"\n";
    return text;
}

} // namespace lockstep::core
