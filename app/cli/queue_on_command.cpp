// SPDX-License-Identifier: MIT
// run --queue-on: checks the recipe here and hands it over to another machine, which runs its queue.
#include <algorithm>

#include <nlohmann/json.hpp>
#include <QString>

#include "commands.h"
#include "experiment/experiment.h"
#include "ipc/documents.h"
#include "nodes/node_book.h"
#include "output.h"
#include "prepared.h"
#include "queue/named_places.h"
#include "queue/queue_origin.h"
#include "queue/queue_places.h"

namespace lockstep::cli {
namespace {

constexpr std::chrono::seconds handOverLimit{150}; // allows for a cold disk, slow nodes and a script's Python

/// Resolves a node's name or an ssh name.
Result<core::CommandPrefix> machineOf(const std::string &name, const std::string &remoteAgent) {
    const auto nodes = core::readNodes();
    if (!nodes)
        return fail(nodes.error());
    const auto node = std::find_if(nodes->begin(), nodes->end(),
                                   [&](const auto &one) { return one.name == name || one.host == name; });
    if (node != nodes->end() && node->how == "local")
        return fail(Error::badArgument(name + " is this machine, which runs queues by default", "omit --queue-on",
                                       "--queue-on"));
    if ((node != nodes->end() && node->how == "slurm") || name.starts_with("slurm:"))
        return fail(Error::badArgument(name + " is a Slurm node, and Slurm has its own queue",
                                       "lockstepctl slurm submit RECIPE", "--queue-on"));
    const std::string agent = !remoteAgent.empty() ? remoteAgent : node != nodes->end() ? node->agent : std::string();
    return core::prefixFor(node != nodes->end() ? node->host : name, agent);
}

/// Refuses options that do not work with a remote queue.
Result<void> goesTogether(const RunOptions &options) {
    const auto refuse = [](const char *option, const char *wayOut) {
        return fail(
            Error::badArgument("--queue-on and " + std::string(option) + " are both given", wayOut, "--queue-on"));
    };
    if (!options.host.empty())
        return refuse("--host", "--queue-on alone already runs runs without nodes on that machine");
    if (!options.experiment.empty())
        return refuse("--experiment", "a queue can't be moved to another machine");
    if (!options.out.empty())
        return refuse("--out", "omit --out and export later: lockstepctl export ID");
    if (options.json && !options.detach)
        return refuse("--json", "add --detach and use lockstepctl show ID --json later");
    return {};
}

std::vector<std::string> wordsFor(const RunOptions &options,
                                  const std::vector<std::pair<std::string, std::string>> &set) {
    std::vector<std::string> words = {"run", "-", "--detach", "--json", "--reach-nodes"};
    if (options.quick)
        words.emplace_back("--quick");
    if (!options.onAlert.empty())
        words.push_back("--on-alert=" + options.onAlert);
    if (!options.check)
        words.emplace_back("--no-check");
    if (options.repeats)
        words.insert(words.end(), {"--repeats", std::to_string(*options.repeats)});
    if (!options.untilWidth.empty())
        words.insert(words.end(), {"--until-width", options.untilWidth});
    if (options.mostRounds)
        words.insert(words.end(), {"--at-most", std::to_string(*options.mostRounds)});
    if (options.orderSeed)
        words.insert(words.end(), {"--order-seed", std::to_string(*options.orderSeed)});
    if (options.sideBySide > 1)
        words.insert(words.end(), {"--side-by-side", std::to_string(options.sideBySide)});
    for (const auto &[key, value] : set)
        words.insert(words.end(), {"--set", key + "=" + value});
    return words;
}

/// The experiment's id, which is the same on both machines.
Result<std::string> handOver(const core::QueueOrigin &origin, const std::vector<std::string> &words,
                             const core::Recipe &recipe) {
    auto said = core::runThere(origin, words, core::toJson(recipe), handOverLimit);
    const std::string &host = origin.prefix.host;
    if (!said) {
        Error error = said.error();
        error.wayOut = "the queue may or may not have started there: ssh " + host + " " + origin.ctl + " list";
        return fail(error);
    }
    const auto json = documents::objectOrNull(said->out);
    if (said->code == Done)
        if (const std::string id = documents::valueIn(json, "experiment", ""); isRunId(id))
            return id;
    const std::string complaint = core::complaintOf(*said);
    const Error error =
        Error::failed("on " + host + ": " + (complaint.empty() ? "lockstepctl did not answer" : complaint));
    return fail(said->code == BadArguments ? Error::badArgument(error.what) : error);
}

} // namespace

int queueOnCommand(const RunOptions &options) {
    if (const auto fits = goesTogether(options); !fits)
        return complain(fits.error());
    const auto machine = machineOf(options.queueOn, options.remoteAgent);
    if (!machine)
        return complain(machine.error());
    const auto recipe = readRecipe(options.recipe);
    if (!recipe)
        return complain(recipe.error());
    auto plan = planOptions(options);
    if (!plan)
        return complain(plan.error());
    const auto seen = core::recipeSeenFrom(machine->host, {*recipe, plan->set});
    if (!seen)
        return complain(seen.error());
    const auto origin = core::queueHostAt(*machine);
    if (!origin)
        return complain(origin.error());
    plan->set = seen->set;
    const auto prepared = expandAt(origin->prefix, seen->recipe, *plan, options);
    if (!prepared)
        return complain(prepared.error());
    if (const auto known = core::rememberPlaces(*prepared); !known)
        return complain(known.error());
    const std::vector<std::string> before = core::listExperiments();
    const auto id = handOver(*origin, wordsFor(options, seen->set), seen->recipe);
    if (!id)
        return complain(id.error());
    if (std::ranges::find(before, *id) != before.end())
        return complain(Error::failed(origin->prefix.host + " answers that its new experiment is " + *id +
                                          ", which was here before",
                                      "look there: ssh " + origin->prefix.host + " " + origin->ctl + " list"));
    if (const auto written = core::writeQueueOrigin(*id, *origin); !written)
        return complain(written.error());
    const auto fetched = core::fetchQueue(*id, *origin); // writes the copy; attach retries a link that breaks now
    const std::string &host = origin->prefix.host;
    if (options.detach && options.json) {
        print(nlohmann::ordered_json{{"experiment", *id}, {"queue_on", host}}.dump() + "\n");
        return Done;
    }
    print("experiment " + *id + " has its queue on " + host +
          ": this machine may be switched off; follow it: lockstepctl attach " + *id + ", stop it: lockstepctl stop " +
          *id + "\n");
    if (options.detach)
        return Done;
    return fetched ? attachCommand({*id, options.tensorBoard}) : complain(fetched.error());
}

Result<void> knowQueueOn(const std::string &machine, const std::string &experiment) {
    if (!isRunId(experiment))
        return fail(Error::badArgument("\"" + experiment.substr(0, 80) + "\" is not an experiment's id",
                                       "lockstepctl list, on " + machine + ", shows them"));
    const auto known = core::readQueueOrigin(experiment);
    if (!known)
        return fail(known.error());
    if (!*known && core::readExperiment(experiment))
        return fail(Error::badArgument("experiment " + experiment + " has its queue on this machine", "omit --queue-on",
                                       "--queue-on"));
    const auto prefix = machineOf(machine, qEnvironmentVariable("LOCKSTEP_REMOTE_AGENT").toStdString());
    if (!prefix)
        return fail(prefix.error());
    const auto origin = core::queueHostAt(*prefix);
    if (!origin)
        return fail(origin.error());
    const auto there = core::runThere(*origin, {"remote", "document", experiment});
    if (!there)
        return fail(there.error());
    if (there->code != Done)
        return fail(Error::badArgument("on " + prefix->host + ": " + core::complaintOf(*there)));
    return core::writeQueueOrigin(experiment, *origin);
}

int resumeThere(const core::QueueOrigin &origin, const RunOptions &options) {
    std::vector<std::string> words = {"run", "--experiment", options.experiment, "--detach", "--json"};
    if (!options.onAlert.empty())
        words.push_back("--on-alert=" + options.onAlert);
    const auto said = core::runThere(origin, words, {}, handOverLimit);
    if (!said)
        return complain(said.error());
    if (said->code != Done)
        return complain(Error{"on " + origin.prefix.host + ": " + core::complaintOf(*said),
                              {},
                              said->code == BadArguments ? ErrorKind::BadArgument : ErrorKind::Failed,
                              {}});
    if (!options.detach)
        return attachCommand({options.experiment, options.tensorBoard});
    print(options.json
              ? nlohmann::ordered_json{{"experiment", options.experiment}, {"queue_on", origin.prefix.host}}.dump() +
                    "\n"
              : "experiment " + options.experiment + " is resumed on " + origin.prefix.host + "\n");
    return Done;
}

} // namespace lockstep::cli
