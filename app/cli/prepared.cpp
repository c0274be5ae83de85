// SPDX-License-Identifier: MIT
// What `run` does before anything starts: turn recipe and options into an experiment, or report every mistake.
#include "prepared.h"

#include "base/machine_facts.h"
#include "ipc/model_facts.h"
#include "ipc/printable.h"
#include "launch/script_check.h"
#include "queue/named_places.h"
#include "queue/queue_places.h"
#include "settings.h"
#include "standard_input.h"
#include "store/run_index.h"

namespace lockstep::cli {
namespace {

/// Checks that ssh reaches every other node without a prompt: the queue's owner starts agents when nobody can answer
/// one.
Errors unreachableNodes(const core::Experiment &experiment) {
    std::vector<RunConfig> configs;
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (entry.planned.runnable())
            configs.push_back(entry.planned.config);
    Errors errors;
    for (const auto &[host, agent] : core::otherHosts(configs)) {
        const auto prefix = core::prefixFor(host, agent);
        const auto facts = prefix ? core::machineFacts(*prefix) : fail(prefix.error());
        if (!facts)
            errors.push_back(Error::badArgument(
                "node " + facts.error().what, "the queue's machine must reach each node without a prompt: make `ssh " +
                                                  host + " true` work from there, or omit --queue-on"));
    }
    return errors;
}

} // namespace

tl::expected<core::Recipe, Errors> readRecipe(const std::string &name) {
    if (name != "-")
        return core::loadRecipe(name);
    const Result<std::string> text = standardInput();
    return text ? core::recipeFromJson(*text, "stdin") : tl::unexpected(Errors{text.error()});
}

tl::expected<core::PlanOptions, Errors> planOptions(const RunOptions &options) {
    core::PlanOptions plan;
    plan.quick = options.quick;
    plan.repeats = options.repeats;
    if (!options.untilWidth.empty()) {
        auto width = core::widthFrom(options.untilWidth);
        if (!width) {
            width.error().where = "--until-width";
            return tl::unexpected(Errors{width.error()});
        }
        plan.untilWidth = *width;
    }
    plan.mostRounds = options.mostRounds;
    plan.orderSeed = options.orderSeed;
    plan.sideBySide = options.sideBySide;
    auto set = settingsFrom(options.set, "--set");
    if (!set)
        return tl::unexpected(set.error());
    plan.set = std::move(*set);
    return plan;
}

tl::expected<core::Experiment, Errors> expandAt(const core::CommandPrefix &prefix, const core::Recipe &recipe,
                                                core::PlanOptions plan, const RunOptions &options) {
    const auto facts = core::machineFacts(prefix);
    if (!facts)
        return tl::unexpected(Errors{facts.error()});
    auto index = core::RunIndex::open(); // an estimate is optional
    if (index && prefix.local() && index->refresh())
        plan.estimate = [&, here = core::thisMachine()](const RunConfig &config,
                                                        const std::vector<std::string> &command) {
            return index->estimate(config, here, command);
        };
    const auto expanded = core::expand(recipe, *facts, plan);
    if (!expanded)
        return tl::unexpected(expanded.error());
    for (const std::string &note : expanded->notes)
        std::fprintf(stderr, "%s\n", printable(onOneLine(note)).c_str());
    if (expanded->runnableCount() == 0) {
        Errors errors;
        for (const core::PlannedRun &run : expanded->runs)
            errors.push_back(Error::badArgument(run.name + ": " + run.notRunReason));
        return tl::unexpected(errors);
    }
    if (prefix.local()) {
        Errors errors;
        for (const core::PlannedRun &run : expanded->runs)
            if (run.runnable() && run.repeat == 1 && run.command.empty() && run.config.nodes.empty())
                if (const auto there = checkModelFile(run.config.model); !there)
                    errors.push_back(there.error());
        if (!errors.empty())
            return tl::unexpected(errors);
    }
    core::Experiment experiment = core::makeExperiment(*expanded, recipe, options.quick, prefix);
    experiment.check = options.check;
    if (options.reachNodes)
        if (Errors errors = unreachableNodes(experiment); !errors.empty())
            return tl::unexpected(std::move(errors));
    const auto pythons = core::checkScripts(prefix, experiment);
    if (!pythons)
        return tl::unexpected(pythons.error());
    for (const std::string &python : *pythons)
        std::fprintf(stderr, "scripts run with %s\n", printable(onOneLine(python)).c_str());
    return experiment;
}

tl::expected<core::Experiment, Errors> prepare(const RunOptions &options) {
    const auto one = [](const Error &error) { return tl::unexpected(Errors{error}); };
    const auto prefix = core::prefixFor(options.host, options.remoteAgent);
    if (!prefix)
        return one(prefix.error());
    const auto recipe = readRecipe(options.recipe);
    if (!recipe)
        return tl::unexpected(recipe.error());
    auto plan = planOptions(options);
    if (!plan)
        return tl::unexpected(plan.error());
    if (prefix->local())
        if (const auto agent = core::findAgent(); !agent)
            return one(agent.error());
    auto experiment = expandAt(*prefix, *recipe, std::move(*plan), options);
    if (experiment)
        if (const auto known = core::rememberPlaces(*experiment); !known)
            return one(known.error());
    return experiment;
}

} // namespace lockstep::cli
