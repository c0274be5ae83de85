// SPDX-License-Identifier: MIT
#include "job_runs.h"

#include <cstdio>

#include "base/machine_facts.h"
#include "ipc/file_system.h"
#include "loaded_runs.h"
#include "prepared.h"

namespace lockstep::cli {
namespace {

/// A job's machines are not this one: they have as many cores as it needs, and the given GPUs.
MachineFacts factsOfJob(const JobRunsOptions &options) {
    constexpr int cores = 4096;
    MachineFacts facts = core::localMachineFacts();
    facts.allowedCores.clear();
    for (int core = 0; core < (options.cores > 0 ? options.cores : cores); ++core)
        facts.allowedCores.push_back(core);
    if (options.gpus >= 0) {
        facts.gpuUuids.clear();
        for (int gpu = 0; gpu < options.gpus; ++gpu)
            facts.gpuUuids.push_back("GPU-" + std::to_string(gpu));
    }
    return facts;
}

tl::expected<core::Experiment, Errors> fromRecipe(const JobRunsOptions &options) {
    const auto recipe = readRecipe(options.what);
    if (!recipe)
        return tl::unexpected(recipe.error());
    RunOptions asked;
    asked.quick = options.quick;
    asked.repeats = options.repeats;
    asked.set = options.set;
    const auto plan = planOptions(asked);
    if (!plan)
        return tl::unexpected(plan.error());
    const auto expanded = core::expand(*recipe, factsOfJob(options), *plan);
    if (!expanded)
        return tl::unexpected(expanded.error());
    core::Experiment experiment = core::makeExperiment(*expanded, *recipe, options.quick, {});
    if (experiment.until.has_value())
        std::fprintf(stderr, "the recipe's until_width is left out: a job has as many runs as it is submitted with\n");
    experiment.until.reset();
    return experiment;
}

/// An earlier run with its config. A command without a config becomes a ddp run with one rank per process.
tl::expected<core::Experiment, Errors> fromRun(const std::string &id) {
    const auto record = readRunRecord(runFolder(id));
    if (!record)
        return tl::unexpected(Errors{record.error()});
    if (record->command.empty() && isScript(*record))
        return tl::unexpected(Errors{Error::badArgument("run " + id + " is of a script that was started elsewhere",
                                                        "its command is not known here: name a recipe")});
    core::PlannedRun run;
    run.name = record->name;
    run.command = isScript(*record) ? record->command : std::vector<std::string>();
    if (record->config) {
        run.config = *record->config;
    } else {
        run.config.method = record->processes > 1 ? Method::Ddp : Method::Baseline;
        run.config.devices.clear();
        for (int i = 0; i < record->processes; ++i)
            run.config.devices.push_back(std::to_string(i));
        run.command = record->command;
    }
    core::Plan plan;
    plan.title = run.name;
    plan.reference = run.name;
    plan.runs = {run};
    plan.order = {0};
    return core::makeExperiment(plan, core::recipeFromConfigs(run.name, {run.config}, 1), false, {});
}

} // namespace

tl::expected<core::Experiment, Errors> jobExperiment(const JobRunsOptions &options) {
    tl::expected<core::Experiment, Errors> experiment;
    if (isRunId(options.what) && !isExperiment(options.what) && isThere(runFolder(options.what).path)) {
        experiment = fromRun(options.what);
    } else if (isExperiment(options.what)) {
        auto known = core::readExperiment(options.what);
        if (!known)
            return tl::unexpected(Errors{known.error()});
        core::Plan plan{known->title, known->recipe.name, known->reference, {}, {}, known->orderSeed, {}, {}, {}};
        for (const core::ExperimentEntry &entry : known->entries)
            plan.runs.push_back(entry.planned);
        for (int i = 0; i < int(plan.runs.size()); ++i)
            if (plan.runs[std::size_t(i)].runnable())
                plan.order.push_back(i);
        experiment = core::makeExperiment(plan, known->recipe, known->quick, {});
    } else {
        experiment = fromRecipe(options);
    }
    if (!experiment)
        return experiment;
    if (experiment->runnableCount() == 0) {
        Errors errors;
        for (const core::ExperimentEntry &entry : experiment->entries)
            errors.push_back(Error::badArgument(entry.planned.name + ": " + entry.planned.notRunReason));
        return tl::unexpected(errors);
    }
    if (options.number > 0) {
        if (options.number > int(experiment->entries.size()))
            return tl::unexpected(Errors{Error::badArgument("there is no run " + std::to_string(options.number) +
                                                                " among " + std::to_string(experiment->entries.size()),
                                                            "omit --run to see them all", "--run")});
        const core::ExperimentEntry one = experiment->entries[std::size_t(options.number - 1)];
        experiment->entries = {one};
        experiment->order.clear();
    }
    return experiment;
}

tl::expected<std::vector<core::PlannedRun>, Errors> jobRuns(const JobRunsOptions &options) {
    const auto experiment = jobExperiment(options);
    if (!experiment)
        return tl::unexpected(experiment.error());
    std::vector<core::PlannedRun> runs;
    for (const core::ExperimentEntry &entry : experiment->entries)
        if (entry.planned.runnable() && (entry.planned.repeat == 1 || options.number > 0))
            runs.push_back(entry.planned);
    return runs;
}

core::SlurmPlace slurmPlaceOf(const SlurmOptions &options, int nodes) {
    core::SlurmPlace place;
    place.partition = options.partition;
    place.account = options.account;
    place.qos = options.qos;
    place.constraint = options.constraint;
    place.time = options.time;
    place.gres = options.gres;
    place.interface = options.interface;
    place.ranksOfNodes = options.tasksPerNode;
    place.nodes = nodes == 1 && !options.tasksPerNode.empty() ? int(options.tasksPerNode.size()) : nodes;
    place.atOnce = options.atOnce;
    place.extra = options.extra;
    if (!options.agent.empty())
        place.agent = options.agent;
    else if (const auto found = core::findAgent())
        place.agent = *found; // the same path on the nodes, if programs are on shared storage
    return place;
}

} // namespace lockstep::cli
