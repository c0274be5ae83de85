// SPDX-License-Identifier: MIT
// add: a further run in an experiment, e.g. a missing control run.
#include <algorithm>

#include "base/machine_facts.h"
#include "commands.h"
#include "experiment/run_names.h"
#include "output.h"
#include "queue/named_places.h"
#include "queue/queue_origin.h"
#include "settings.h"

namespace lockstep::cli {
namespace {

/// The run that the new one is based on: by its number from 1, or the reference.
Result<core::ExperimentEntry> model(const core::Experiment &experiment, int number) {
    const auto &entries = experiment.entries;
    const auto found = number > 0 ? entries.begin() + std::min<std::ptrdiff_t>(number - 1, std::ssize(entries))
                                  : std::ranges::find_if(entries, [&](const core::ExperimentEntry &entry) {
                                        return entry.planned.name == experiment.reference;
                                    });
    const std::string listed = "lockstepctl queue " + experiment.id + " lists them";
    if (found == entries.end())
        return fail(Error::badArgument(number > 0 ? "the experiment has no run number " + std::to_string(number)
                                                  : "the experiment's reference " + experiment.reference +
                                                        " is not among its runs",
                                       number > 0 ? listed : "choose another run with --like NUMBER; " + listed));
    if (!found->planned.command.empty())
        return fail(Error::badArgument(found->planned.name + " is a script, which has its own settings",
                                       "choose a run of lockstep-trainer with --like NUMBER; " + listed));
    return *found;
}

std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (const std::string &word : words)
        text += ", " + word;
    return text;
}

} // namespace

int addCommand(const AddOptions &options) {
    if (const auto origin = core::queueOriginOf(options.experiment)) // the copy may be outdated
        if (const auto fetched = core::fetchQueue(options.experiment, *origin); !fetched)
            return complain(fetched.error());
    const auto experiment = core::readExperiment(options.experiment);
    if (!experiment)
        return complain(experiment.error());
    const auto like = model(*experiment, options.like);
    if (!like)
        return complain(like.error());
    core::PlanOptions plan;
    auto set = settingsFrom(options.set, "KEY=VALUE");
    if (!set)
        return complain(set.error());
    plan.set = std::move(*set);
    if (const auto places = core::checkPlacesOf(options.experiment); !places)
        return complain(places.error());
    const auto prefix = core::prefixFor(experiment->host, experiment->remoteAgent);
    if (!prefix)
        return complain(prefix.error());
    const auto facts = core::machineFacts(*prefix);
    if (!facts)
        return complain(facts.error());
    const auto expanded =
        core::expand(core::recipeFromConfigs(experiment->title, {like->planned.config}, 1), *facts, plan);
    if (!expanded)
        return complain(expanded.error());
    core::QueueRequest request;
    request.kind = core::QueueRequest::Kind::Add;
    request.by = whoAsks();
    core::PlannedRun &added = request.added.emplace(expanded->runs.front());
    if (!added.runnable())
        return complain(Error::badArgument(added.name + ": " + added.notRunReason));
    added.name = options.name.empty() ? core::runTitle(added.config) + joined(options.set) : options.name;
    added.repeats = options.repeats.value_or(like->planned.repeats);
    core::Experiment named = *experiment;
    named.entries.assign(1, *like);
    named.entries.front().planned = added;
    if (const auto known = core::rememberPlaces(named); !known) // --set nodes=… may name new ones
        return complain(known.error());
    if (const auto asked = core::requestQueue(options.experiment, request); !asked)
        return complain(asked.error());
    print(added.name + " is queued in " + options.experiment + ", " + std::to_string(added.repeats) +
          (added.repeats == 1 ? " run\n" : " runs\n"));
    return goOn(options.experiment);
}

} // namespace lockstep::cli
