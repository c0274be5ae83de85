// SPDX-License-Identifier: MIT
#include "queue/slurm/slurm_script.h"

#include <algorithm>
#include <numeric>

#include "launch/jobs/job_shape.h"

namespace lockstep::core {
namespace {

/// #SBATCH lines have no shell quoting: characters that could end a word or a line are refused.
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
                                       " are allowed",
                                   "spell it as sinfo, sacctmgr or sbatch's manual do", what));
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
        return fail(
            Error::badArgument("\"" + commentText(place.interface) + "\" is not the name of a network interface",
                               "ip address lists them", "interface"));
    if (std::any_of(place.ranksOfNodes.begin(), place.ranksOfNodes.end(), [](int ranks) { return ranks < 1; }))
        return fail(Error::badArgument("a node of the job has no rank", "give each 1 or more, or omit the shares",
                                       "tasks_per_node"));
    if (!place.ranksOfNodes.empty() && place.nodes > 1 && int(place.ranksOfNodes.size()) != place.nodes)
        return fail(Error::badArgument("ranks are given for " + std::to_string(place.ranksOfNodes.size()) +
                                           " nodes, but " + std::to_string(place.nodes) + " nodes are requested",
                                       "omit --nodes, or give as many", "tasks_per_node"));
    for (const std::string &option : place.extra) {
        if (!option.starts_with('-'))
            return fail(Error::badArgument("\"" + commentText(option) + "\" is not an option of sbatch",
                                           "write it like --exclusive or --mem=4G", "option"));
        if (const auto good = checkWord("option", option); !good)
            return good;
    }
    return {};
}

/// Cores that a run's processes on one node need.
int coresOfNode(const RunConfig &config, int processes) {
    const int devices = isDistributed(config.method) ? processes : deviceCount(config);
    const int training = config.device == "cpu" ? devices * config.coresPerDevice : processes;
    return training + processes * config.workers;
}

/// A run's ranks by node.
struct Shares {
    std::vector<int> processes; ///< of each node; if Slurm lays them out: evenly, the first nodes get one more
    bool bySlurm = false;
    [[nodiscard]] int nodes() const { return int(processes.size()); }
    [[nodiscard]] int ranks() const { return std::accumulate(processes.begin(), processes.end(), 0); }
    [[nodiscard]] int most() const { return *std::max_element(processes.begin(), processes.end()); }
};

Result<Shares> sharesOf(const SlurmTask &task, const SlurmPlace &place) {
    const RunConfig &config = task.planned.config;
    const int processes = processCount(config);
    const bool ddp = isDistributed(config.method);
    const std::vector<int> &given = place.ranksOfNodes;
    if (!given.empty() && ddp && processes >= int(given.size())) {
        if (std::accumulate(given.begin(), given.end(), 0) == processes)
            return Shares{given, false};
        if (processes > int(given.size()) || given.size() == 1)
            return fail(Error::badArgument(commentText(task.planned.name) + " has " + std::to_string(processes) +
                                               " ranks, but the nodes are given " +
                                               std::to_string(std::accumulate(given.begin(), given.end(), 0)),
                                           "give shares that add up to it: --tasks-per-node 2,1", "tasks_per_node"));
    }
    const auto shape = jobShape(config, ddp ? std::min(place.nodes, processes) : 1);
    if (!shape)
        return fail(shape.error());
    return Shares{shape->processes, !shape->even()};
}

/// The resources that the job requests. If Slurm lays out the ranks, `tasks` tasks with `cores` and `gpus` each; else
/// the needs of every node.
struct Needs {
    int cores = 1, gpus = 0, nodes = 1, tasks = 0;
};

Result<Needs> needsOf(const std::vector<SlurmTask> &tasks, const SlurmPlace &place) {
    Needs needs;
    int coresOfRank = 1, gpusOfRank = 0;
    for (const SlurmTask &task : tasks) {
        const auto shares = sharesOf(task, place);
        if (!shares)
            return fail(shares.error());
        const RunConfig &config = task.planned.config;
        needs.nodes = std::max(needs.nodes, shares->nodes());
        needs.cores = std::max(needs.cores, coresOfNode(config, shares->most()));
        if (config.device == "cuda")
            needs.gpus = std::max(needs.gpus, isDistributed(config.method) ? shares->most() : deviceCount(config));
        if (shares->bySlurm) {
            needs.tasks = std::max(needs.tasks, shares->ranks());
            coresOfRank = std::max(coresOfRank, coresOfNode(config, 1));
            gpusOfRank = std::max(gpusOfRank, config.device == "cuda" ? 1 : 0);
        }
    }
    if (needs.tasks > 0) {
        needs.cores = coresOfRank;
        needs.gpus = gpusOfRank;
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
    if (needs.tasks > 0) // Slurm lays out one task per rank; one agent per node still starts them
        option("--ntasks=" + std::to_string(needs.tasks));
    else
        option("--ntasks-per-node=1"); // one agent per node; the ranks are its children
    option("--cpus-per-task=" + std::to_string(needs.cores));
    if (!place.gres.empty())
        option("--gres=" + place.gres);
    else if (needs.gpus > 0)
        option(needs.tasks > 0 ? "--gpus-per-task=1" : "--gres=gpu:" + std::to_string(needs.gpus));
    option("--signal=TERM@60"); // to the agents: writes a checkpoint before the time limit
    option("--requeue");
    option("--open-mode=append");
    if (tasks.size() > 1)
        option("--array=0-" + std::to_string(tasks.size() - 1) +
               (place.atOnce > 0 ? "%" + std::to_string(place.atOnce) : std::string()));
    if (!tasks.front().experiment.empty())
        option("--comment=" + slurmMark(tasks.front().experiment));
    for (const std::string &word : place.extra)
        option(word);
    return text;
}

/// A task's branch: run id, number of nodes, the ranks of each, and what follows `lockstep-agent run` on every node.
Result<std::string> branch(const SlurmTask &task, std::size_t number, const SlurmPlace &place) {
    const auto shares = sharesOf(task, place);
    if (!shares)
        return fail(shares.error());
    PlannedRun own = task.planned;
    if (own.command.empty() && own.config.checkpointDir.empty()) {
        own.config.checkpointDir = slurmCheckpoints(place, task.run);
        own.config.resume = true;
    }
    auto command = jobCommand(own, shares->processes.front());
    if (!command)
        return fail(command.error());
    const bool several = shares->nodes() > 1, ddp = isDistributed(own.config.method);
    std::vector<std::string> words = {"--name", own.name};
    const auto add = [&](const char *flag, const std::string &value) {
        if (!value.empty())
            words.insert(words.end(), {flag, value});
    };
    add("--experiment", task.experiment);
    if (own.config.maxRestarts > 0 && !own.command.empty()) // lockstep-trainer has it among its own arguments
        add("--max-restarts", std::to_string(own.config.maxRestarts));
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
    text += "\n    run=" + quoteForShell(task.run) + " nodes=" + std::to_string(shares->nodes());
    const bool ours = task.planned.command.empty() && task.planned.config.checkpointDir.empty();
    text += " checkpoints=" + (ours ? quoteForShell(own.config.checkpointDir) : std::string());
    std::string list; // ranks of every node; empty: left to Slurm
    for (int processes : ddp ? shares->processes : std::vector<int>{1})
        list += (list.empty() ? "" : " ") + std::to_string(processes);
    text +=
        " ranks=" + std::to_string(ddp ? shares->ranks() : 1) + " shares=" + quoteForShell(shares->bySlurm ? "" : list);
    text += several && own.command.empty() ? " placed=yes"
                                           : " placed="; // lockstep-trainer numbers the devices over all nodes
    text += "\n    set --";
    for (const std::string &word : words)
        text += " " + quoteForShell(word);
    return text + "\n    ;;\n";
}

/// Sets `shares` to the ranks of each node as Slurm has laid them out.
constexpr std::string_view laidOutBySlurm =
    "# Ranks that the nodes can't share evenly follow Slurm's layout of tasks: SLURM_TASKS_PER_NODE, like 2(x3),1.\n"
    "if [ -z \"$shares\" ]; then\n"
    "    left=$ranks after=$nodes\n"
    "    for one in ${SLURM_TASKS_PER_NODE//,/ }; do\n"
    "        count=${one%%(*} times=1\n"
    "        case \"$one\" in *x*) times=${one##*x} times=${times%)} ;; esac\n"
    "        while [ \"$times\" -gt 0 ] && [ \"$after\" -gt 0 ]; do\n"
    "            times=$((times - 1)) after=$((after - 1))\n"
    "            if [ \"$count\" -gt $((left - after)) ]; then mine=$((left - after)); else mine=$count; fi\n"
    "            shares=\"${shares:+$shares }$mine\" left=$((left - mine))\n"
    "        done\n"
    "    done\n"
    "    if [ \"$left\" -ne 0 ]; then\n"
    "        echo \"Slurm has laid out $SLURM_TASKS_PER_NODE tasks, which do not fit $ranks ranks on $nodes "
    "nodes\" >&2\n"
    "        exit 2\n"
    "    fi\n"
    "fi\n";

/// Passes every node and its devices to lockstep-trainer.
std::string placesByNode(const std::string &interface) {
    return "if [ -n \"$placed\" ]; then\n"
           "    places= number=0\n"
           "    set -f; list=($shares); set +f\n"
           "    for host in $(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n \"$nodes\"); do\n"
           "        devices=$(seq -s, 0 $((list[number] - 1))) number=$((number + 1))\n"
           "        places=\"${places:+$places;}$host" +
           (interface.empty() ? std::string() : "%" + interface) +
           ":$devices\"\n"
           "    done\n"
           "    set -- \"$@\" \"--nodes=$places\"\n"
           "fi\n";
}

} // namespace

std::string slurmMark(std::string_view experiment) {
    return "lockstep:" + std::string(experiment);
}

std::string slurmCheckpoints(const SlurmPlace &place, std::string_view run) {
    return homeOf(place) + "/checkpoints/" + std::string(attemptDigits(run));
}

std::string_view attemptDigits(std::string_view run) {
    return isRunId(run) ? run.substr(run.rfind('-') + 1) : std::string_view();
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
    text +=
        "# Written by Lockstep; you may edit it. All nodes must share LOCKSTEP_HOME, which contains the run folders.\n"
        "set -u\n"
        "export LOCKSTEP_HOME=" +
        quoteForShell(homeOf(place)) + "\ncase \"${SLURM_ARRAY_TASK_ID:-0}\" in\n";
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto one = branch(tasks[i], i, place);
        if (!one)
            return fail(one.error());
        if (const auto fits = checkJobBytes(text.size() + one->size(), tasks[i].planned.name); !fits)
            return fail(fits.error());
        text += *one;
    }
    text +=
        "*)\n    echo \"there is no run number $SLURM_ARRAY_TASK_ID in this script\" >&2\n    exit 2\n    ;;\nesac\n";
    // By the clock alone, two array tasks requeued together would get one name; the digits keep them distinct.
    text +=
        "# A requeued job resumes from its checkpoint as a new run, with the same digits after the dash.\n"
        "if [ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ]; then run=\"$(date -u +%Y%m%dT%H%M%SZ)-${run##*-}\"; fi\n"
        "# scancel and the time limit signal the agents, whose ranks write a checkpoint; this shell waits for them.\n"
        "trap : TERM\n";
    text += laidOutBySlurm;
    text += placesByNode(place.interface);
    text += "unset SLURM_GPUS_PER_TASK # it is per rank, but an agent needs all of the job's GPUs on its node\n"
            "srun --nodes=\"$nodes\" --ntasks=\"$nodes\" --ntasks-per-node=1 --wait=0 --kill-on-bad-exit=0 bash -c '\n"
            "    agent=\"$1\" run=\"$2\" nodes=\"$3\" shares=($4)\n"
            "    shift 4\n"
            "    exec \"$agent\" run --run-id \"$run\" --nnodes \"$nodes\" --node-rank \"$SLURM_NODEID\" \\\n"
            "        --nproc-per-node \"${shares[$SLURM_NODEID]}\" \"$@\"\n"
            "' lockstep " +
            quoteForShell(place.agent) +
            " \"$run\" \"$nodes\" \"$shares\" \"$@\"\n"
            "code=$?\n"
            "if [ \"$code\" -eq 0 ] && [ -n \"$checkpoints\" ]; then rm -rf -- \"$checkpoints\"; fi\n"
            "exit \"$code\"\n";
    return text;
}

} // namespace lockstep::core
