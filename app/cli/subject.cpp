// SPDX-License-Identifier: MIT
#include "subject.h"

#include "base/machine_facts.h"
#include "experiment/plan.h"
#include "experiment/recipe.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "lab/forecast_grades.h"
#include "settings.h"

namespace lockstep::cli {
namespace {

tl::expected<Subject, Errors> subjectOfRun(const std::string &id) {
    const auto run = readRunRecord(runFolder(id));
    if (!run || !run->config || isScript(*run))
        return tl::unexpected(Errors{Error::badArgument("run " + id + " is not a run of lockstep-trainer with a config",
                                                        "choose another one, or a recipe")});
    return Subject{id, run->name, *run->config, core::runsOf({{run->config->method}}, {deviceCount(*run->config)}), {}};
}

/// DDP before other methods that can be forecast, and these before others.
int weightOf(const core::PlannedRun &run) {
    const Traffic traffic = specOf(run.config.method).traffic;
    return traffic == Traffic::Ring ? 2 : traffic != Traffic::None ? 1 : 0;
}

tl::expected<Subject, Errors> subjectOfRecipe(const std::string &name, const std::vector<std::string> &set) {
    const auto recipe = core::loadRecipe(name);
    if (!recipe)
        return tl::unexpected(recipe.error());
    core::PlanOptions plan;
    auto settings = settingsFrom(set, "--set");
    if (!settings)
        return tl::unexpected(settings.error());
    plan.set = std::move(*settings);
    const auto expanded = core::expand(*recipe, core::localMachineFacts(), plan);
    if (!expanded)
        return tl::unexpected(expanded.error());
    Subject subject;
    subject.recipe = expanded->recipe;
    subject.title = expanded->title;
    const core::PlannedRun *first = nullptr;
    for (const core::PlannedRun &run : expanded->runs)
        if (run.command.empty() && (!first || weightOf(run) > weightOf(*first)))
            first = &run;
    if (!first)
        return tl::unexpected(
            Errors{Error::badArgument("recipe " + name + " has no run of lockstep-trainer", "choose another one")});
    subject.config = first->config;
    subject.leftOut = core::leftOutSentence(*first, expanded->runs);
    for (const core::PlannedRun &run : expanded->runs)
        if (run.command.empty())
            subject.runs.merge(core::runsOf({core::wayOf(run.config, subject.config)}, {deviceCount(run.config)}));
    return subject;
}

} // namespace

tl::expected<Subject, Errors> subjectOf(const std::string &what, const std::vector<std::string> &set) {
    return isRunId(what) ? subjectOfRun(what) : subjectOfRecipe(what, set);
}

} // namespace lockstep::cli
