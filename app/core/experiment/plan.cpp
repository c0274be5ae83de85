// SPDX-License-Identifier: MIT
#include "experiment/plan.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <system_error>
#include <unordered_set>

#include "base/machine_facts.h"
#include "experiment/key_reader.h"
#include "experiment/place_limit.h"
#include "experiment/round_order.h"
#include "experiment/run_finder.h"
#include "experiment/run_names.h"
#include "ipc/backend_rule.h"
#include "ipc/command_template.h"
#include "ipc/cores.h"
#include "ipc/model_facts.h"
#include "ipc/models.h"

namespace lockstep::core {
namespace {

constexpr int mostCpuDevices = 8; // as many as the publications used

/// One spec with its devices resolved.
struct Resolved {
    PlannedRun run;
    bool named = false;
    std::string commonName; ///< before it has what tells it apart from others of that name
    std::size_t bytes = 0;  ///< bytesOf() it
    std::vector<Error> errors;
};

/// The largest number of devices that all get the same share of the batch.
int evenShare(int limit, const RunConfig &config) {
    if (config.batchPerDevice > 0)
        return limit;
    int count = std::max(1, limit);
    while (count > 1 && config.batchSize % count != 0)
        --count;
    return count;
}

void takeAllDevices(const RunSpec &spec, const MachineFacts &facts, Resolved &out) {
    RunConfig &config = out.run.config;
    const int limit = deviceLimit(facts, config.device, config.coresPerDevice);
    const int capped = config.device == "cpu" ? std::min(limit, mostCpuDevices) : limit;
    const int even = evenShare(capped, config);
    // If the batch doesn't divide by all devices, fewer are used; falling from "all" to one device is refused.
    const int count = even == 1 && specOf(spec.config.method).severalDevices ? capped : even;
    config.devices.clear();
    for (int i = 0; i < count; ++i)
        config.devices.push_back(std::to_string(i));
    if (count == limit || limit == 0)
        return;
    std::string why = std::to_string(count) + " of " + std::to_string(limit) + " devices: ";
    why += count < capped ? "a batch of " + std::to_string(config.batchSize) + " can't be shared evenly among " +
                                std::to_string(capped)
                          : "at most " + std::to_string(mostCpuDevices) + " CPU devices are used by default";
    out.run.note = spec.note.empty() ? why : spec.note + "; " + why;
}

/// One core per worker, none of them a device's; nothing if there are too few.
std::string takeWorkerCores(const RunConfig &config, const MachineFacts &facts, std::string &cores) {
    if (config.workers == 0)
        return {};
    const int processes = processCount(config), wanted = processes * config.workers;
    CoreList left = coresBesideDevices(config, facts.allowedCores);
    const std::size_t training = facts.allowedCores.size() - left.size();
    if (int(left.size()) < wanted)
        return "not run: needs " + std::to_string(training + std::size_t(wanted)) + " cores (" +
               (training > 0 ? std::to_string(training) + " to train, " : std::string()) + std::to_string(wanted) +
               " to load), has " + std::to_string(facts.allowedCores.size());
    left.resize(std::size_t(wanted)); // workers of several processes share them
    cores = formatCores(left);
    return {};
}

void applyQuick(const QuickVariant &quick, RunConfig &config) {
    if (config.trainSamples == 0 || config.trainSamples > quick.trainSamples)
        config.trainSamples = quick.trainSamples;
    if (quick.testSamples > 0 && (config.testSamples == 0 || config.testSamples > quick.testSamples))
        config.testSamples = quick.testSamples;
    config.epochs = std::min(config.epochs, quick.epochs);
}

std::vector<Error> applySet(const std::vector<std::pair<std::string, std::string>> &set, RunConfig &config) {
    std::vector<Error> errors;
    for (const auto &[key, value] : set) {
        const FieldSpec *field = findField(key);
        if (!field || field->perProcess)
            errors.push_back(Error::badArgument("unknown key", keyInstead(key, "\""), key));
        else if (const Result<void> done = field->set(config, value); !done) {
            Error error = done.error();
            error.where = key;
            errors.push_back(error);
        }
    }
    return errors;
}

bool sets(const PlanOptions &options, std::string_view key) {
    return std::any_of(options.set.begin(), options.set.end(), [&](const auto &pair) { return pair.first == key; });
}

std::string joinReasons(const std::vector<Error> &errors) {
    std::string text;
    for (const Error &error : errors)
        text += (text.empty() ? "" : "; ") + error.what;
    return text;
}

/// Adapts a run to the nodes set for the whole recipe: a baseline trains on the first device of the first node.
/// False if the run does not fit those nodes.
bool placeOnNodes(const RunSpec &spec, Resolved &out) {
    RunConfig &config = out.run.config;
    if (spec.firstNode)
        config.nodes.resize(1);
    const MethodSpec &method = specOf(config.method);
    if (!method.severalDevices) {
        config.nodes.resize(1);
        config.nodes.front().devices.resize(std::min<std::size_t>(1, config.nodes.front().devices.size()));
    }
    if (hasReplicas(method) && config.nodes.size() > 1) {
        out.run.notRunReason = "not run: " + std::string(method.name) + " is one process, so it can't span " +
                               std::to_string(config.nodes.size()) + " nodes";
        return false;
    }
    config.devices = RunConfig().devices; // each node has its own
    return true;
}

/// What this machine lacks for its part of the run; other machines report at the launch.
std::vector<Error> lacksHere(const RunConfig &config, const MachineFacts &facts) {
    if (config.nodes.empty())
        return checkMachine(config, facts);
    std::vector<Error> lacks;
    for (std::size_t node = 0; node < config.nodes.size(); ++node)
        if (config.nodes[node].host.empty())
            for (Error &error : checkMachine(configOfNode(config, int(node)), facts))
                lacks.push_back(std::move(error));
    return lacks;
}

Resolved resolve(const RunSpec &spec, const Recipe &recipe, const MachineFacts &facts, const PlanOptions &options) {
    Resolved out;
    out.named = !spec.name.empty();
    out.run.name = spec.name;
    out.run.note = spec.note;
    out.run.command = spec.command;
    out.run.claims = spec.claims;
    RunConfig &config = out.run.config;
    config = spec.config;
    if (spec.autoDevice)
        config.device = facts.gpuUuids.empty() ? "cpu" : "cuda";
    if (options.quick)
        applyQuick(recipe.quick.value_or(QuickVariant{}), config);
    out.errors = applySet(options.set, config);
    std::error_code gone; // a folder that was removed has no path
    config.model =
        modelFrom(std::filesystem::current_path(gone), config.model); // known by its whole path, as in runs' records
    if (const Result<std::size_t> bytes = bytesOf(spec, config))
        out.bytes = *bytes;
    else
        out.errors.push_back(bytes.error());
    if (!config.nodes.empty() && !placeOnNodes(spec, out))
        return out;
    if (spec.devices.kind == DeviceRequest::Kind::All && !sets(options, "devices") && config.nodes.empty())
        takeAllDevices(spec, facts, out);
    if (!out.errors.empty())
        return out;
    if (spec.autoDevice && config.device == "cpu" && config.backend == "nccl") {
        out.run.notRunReason = "not run: nccl needs GPUs, this machine has none";
        return out;
    }
    if (const auto why = whyNotOnGpus(config); spec.autoDevice && config.device == "cuda" && !why.empty()) {
        out.run.notRunReason = "not run: " + std::string(why);
        return out;
    }
    out.errors = validate(config);
    const std::vector<Error> lacks = lacksHere(config, facts);
    if (!lacks.empty()) // missing devices come first: the batch may fit those that are here
        std::erase_if(out.errors, [](const Error &error) { return error.where == "batch_size"; });
    if (out.errors.empty() && !lacks.empty())
        out.run.notRunReason = "not run: " + joinReasons(lacks);
    else if (out.errors.empty() && config.nodes.empty() && spec.autoWorkerCores && !sets(options, "worker_cores"))
        out.run.notRunReason = takeWorkerCores(config, facts, config.workerCores);
    if (out.errors.empty() && out.run.runnable() && options.whyNot)
        if (const std::string why = options.whyNot(config, spec.command); !why.empty())
            out.run.notRunReason = "not run: " + why;
    return out;
}

/// If two runs of one name differ in their configs, adds the difference: "DP on 2 devices, 4 workers".
void nameRuns(std::vector<Resolved> &runs) {
    std::set<std::string> ddpBackends;
    for (const Resolved &one : runs)
        if (isDistributed(one.run.config.method))
            ddpBackends.insert(one.run.config.backend);
    std::vector<PlannedRun *> planned;
    for (Resolved &one : runs) {
        if (!one.named && !one.run.command.empty())
            one.run.name = commandName(one.run.command);
        else if (!one.named)
            one.run.name = runTitle(one.run.config, ddpBackends.size() > 1 && isDistributed(one.run.config.method));
        one.commonName = one.run.name;
        planned.push_back(&one.run);
    }
    tellApart(planned);
}

/// The recipe's reference. A recipe may be older than the rule that names leave defaults out ("baseline, 0 workers"): then it is the
/// run that had that name.
std::string renewedReference(const Recipe &recipe, const std::vector<Resolved> &runs) {
    if (recipe.reference.empty() ||
        std::ranges::any_of(runs, [&](const Resolved &one) { return one.run.name == recipe.reference; }))
        return recipe.reference;
    std::vector<PlannedRun> former;
    std::vector<PlannedRun *> asFormerly;
    former.reserve(runs.size());
    for (const Resolved &one : runs) {
        asFormerly.push_back(&former.emplace_back(one.run));
        asFormerly.back()->name = one.commonName;
    }
    tellApart(asFormerly, Defaults::Named);
    const auto found = std::ranges::find(former, recipe.reference, &PlannedRun::name);
    return found == former.end() ? recipe.reference : runs[std::size_t(found - former.begin())].run.name;
}

/// A small recipe can multiply to more runs than any machine has memory for.
std::optional<Error> tooLarge(const std::vector<Resolved> &runs, std::size_t repeats) {
    std::size_t places = 0, bytes = 0;
    for (const Resolved &one : runs) {
        places += placeCount(one.run.config);
        bytes += one.bytes;
    }
    const std::string counted = std::to_string(runs.size()) + " runs, " + std::to_string(repeats) + " times each,";
    if (runs.size() * repeats > mostRunsPlanned)
        return Error::badArgument(counted + " are more than the " + std::to_string(mostRunsPlanned) +
                                      " runs that an experiment can have",
                                  "use fewer repeats, or split it", "repeats");
    if (Result<void> room = roomForPlaces(places * repeats, counted); !room) {
        room.error().where = "repeats";
        return room.error();
    }
    if (bytes * repeats > mostBytesPlanned)
        return Error::badArgument("the commands and texts of " + counted + " take " + std::to_string(bytes * repeats) +
                                      " bytes, more than the " + std::to_string(mostBytesPlanned) +
                                      " that an experiment can have",
                                  "shorten them, use fewer repeats, or split it", "repeats");
    return std::nullopt;
}

/// A B C, A B C, …; then, once each, the runs that can't run. Takes the runs, whose nodes may be many, out of the list.
void order(std::vector<Resolved> &runs, int repeats, const EstimateSource &estimate, Plan &plan) {
    bool known = true;
    const auto unable = std::ranges::stable_partition(runs, [](const Resolved &one) { return one.run.runnable(); });
    const std::span<Resolved> able(runs.begin(), unable.begin());
    for (Resolved &one : able) {
        if (estimate) // each is looked up once
            one.run.estimateS = estimate(one.run.config, one.run.command);
        one.run.repeats = repeats;
        known = known && one.run.estimateS.has_value();
    }
    for (int repeat = 1; repeat < repeats; ++repeat)
        for (const Resolved &one : able)
            plan.runs.emplace_back(one.run).repeat = repeat;
    for (Resolved &one : able)
        plan.runs.emplace_back(std::move(one.run)).repeat = repeats;
    plan.order = drawRounds(plan.runnableCount() / repeats, repeats, plan.orderSeed);
    std::vector<TimedRun> waiting;
    for (const int i : plan.order)
        waiting.push_back({plan.runs[std::size_t(i)].config, plan.runs[std::size_t(i)].estimateS.value_or(1)});
    const SideBySideTime time = timeSideBySide({}, waiting, plan.sideBySide);
    plan.mostAtOnce = std::max(1, time.mostAtOnce);
    if (known && plan.runnableCount() > 0)
        plan.estimateS = time.seconds;
    for (Resolved &one : unable)
        plan.runs.push_back(std::move(one.run));
}

bool isOnePlace(const std::string &a, const std::string &b) {
    const auto whole = [](const std::string &path) {
        std::error_code gone;
        return (std::filesystem::absolute(path, gone) / "").lexically_normal();
    };
    return !a.empty() && !b.empty() && whole(a) == whole(b);
}

/// A trainer that saves its parameters where it has found them lets later runs start from others.
std::optional<Error> savedOverStart(const std::vector<Resolved> &runs, int repeats) {
    const auto able = std::ranges::count_if(runs, [](const Resolved &one) { return one.run.runnable(); });
    if (able * std::max(repeats, 1) < 2)
        return std::nullopt;
    for (const Resolved &one : runs) {
        const RunConfig &config = one.run.config;
        if (!one.run.command.empty() || !one.run.runnable())
            continue;
        const bool overBert = savesFolder(config.model) && isOnePlace(config.saveFinal, bertFolderOf(config.bertDir));
        const char *bert = config.bertDir.empty() ? "the downloaded BERT's folder" : "bert_dir";
        if (overBert || isOnePlace(config.saveFinal, config.init))
            return Error::badArgument("\"" + config.saveFinal + "\" is also " + (overBert ? bert : "init") +
                                          ", so later runs would start from what earlier ones have saved",
                                      "save to another place, or plan one run alone", "save_final");
    }
    return std::nullopt;
}

/// The error if the recipe's reference names none of its runs. Not one if the settings may have renamed the
/// reference.
std::optional<Error> referenceMistake(const Recipe &recipe, const std::string &reference,
                                      const std::vector<Resolved> &runs, const PlanOptions &options) {
    constexpr std::size_t mostNames = 12;
    if (reference.empty() ||
        std::ranges::any_of(runs, [&](const Resolved &one) { return one.run.name == reference; }) ||
        std::ranges::any_of(recipe.runs, [&](const RunSpec &spec) { return spec.name == reference; }) ||
        std::ranges::any_of(options.set, [&](const auto &pair) { return mayRename(recipe, pair.first); }) ||
        (options.quick && (mayRename(recipe, "epochs") || mayRename(recipe, "train_samples"))))
        return std::nullopt;
    std::string names;
    for (std::size_t i = 0; i < std::min(runs.size(), mostNames); ++i)
        names += (i == 0 ? "\"" : ", \"") + runs[i].run.name + "\"";
    if (runs.size() > mostNames)
        names += " and " + std::to_string(runs.size() - mostNames) + " more";
    return Error::badArgument("no run is named \"" + reference + "\"", "name one of these: " + names, "reference");
}

std::optional<WidthGoal> goalOf(const Recipe &recipe, const PlanOptions &options) {
    std::optional<WidthGoal> goal = options.repeats ? std::nullopt : recipe.untilWidth;
    if (options.untilWidth)
        goal = WidthGoal{*options.untilWidth, recipe.untilWidth.value_or(WidthGoal{}).mostRounds};
    if (goal && options.mostRounds)
        goal->mostRounds = *options.mostRounds;
    return goal;
}

std::string chooseReference(const std::string &reference, const std::vector<Resolved> &runs) {
    for (const Resolved &one : runs)
        if (one.run.name == reference && one.run.runnable())
            return one.run.name;
    for (const Resolved &one : runs)
        if (one.run.runnable() && one.run.config.method == Method::Baseline)
            return one.run.name;
    for (const Resolved &one : runs)
        if (one.run.runnable())
            return one.run.name;
    return reference;
}

/// The mistakes of a recipe's runs. Those that runs have in common are named once.
class Mistakes {
public:
    explicit Mistakes(std::vector<Error> &errors) : m_errors(errors) {}

    /// False: there are more than are named, as a last one says.
    bool add(const std::vector<Error> &found) {
        for (const Error &error : found) {
            if (!m_messages.insert(error.message()).second)
                continue;
            if (m_errors.size() == mostMistakesNamed) {
                m_errors.push_back(Error::badArgument("there are more mistakes", "correct those above first"));
                return false;
            }
            m_errors.push_back(error);
        }
        return true;
    }

private:
    std::vector<Error> &m_errors;
    std::unordered_set<std::string> m_messages;
};

/// A name in the recipe of a run that is the same as an earlier one.
struct DoubledRun {
    std::string name;
    std::size_t earlier = 0; ///< in the list of runs
};

/// A sentence for each run that the plan has under another name only; of many, for the first few.
std::vector<std::string> notesOnDoubles(const std::vector<DoubledRun> &doubles, const std::vector<Resolved> &runs) {
    constexpr std::size_t mostNamed = 5;
    std::vector<std::string> notes;
    std::size_t more = 0;
    for (const DoubledRun &one : doubles) {
        const std::string &kept = runs[one.earlier].run.name;
        if (one.name == kept)
            continue;
        if (notes.size() < mostNamed)
            notes.push_back("\"" + one.name + "\" has the same settings as \"" + kept + "\": one run stands for both");
        else
            ++more;
    }
    if (more > 0)
        notes.push_back(std::to_string(more) + (more == 1 ? " more run has" : " more runs have") +
                        " the same settings as an earlier one");
    return notes;
}

/// The recipe's runs, without doubles. Stops, with a mistake, before they name more places than an experiment can, or where there are
/// more mistakes than are named.
std::vector<Resolved> resolveAll(const Recipe &recipe, const MachineFacts &facts, const PlanOptions &options,
                                 std::vector<Error> &errors, std::vector<DoubledRun> &doubles) {
    std::vector<Resolved> runs;
    RunFinder finder;
    Mistakes mistakes(errors);
    std::size_t places = 0;
    for (const RunSpec &spec : recipe.runs) {
        Resolved one = resolve(spec, recipe, facts, options);
        if (!mistakes.add(one.errors))
            break;
        std::size_t same = 0;
        const bool isNew = finder.add(one.run.config, one.run.command, one.run.claims, [&](std::size_t earlier) {
            const PlannedRun &run = runs[earlier].run;
            same = earlier;
            return run.config == one.run.config && run.command == one.run.command && run.claims == one.run.claims &&
                   run.notRunReason == one.run.notRunReason;
        });
        if (!isNew) {
            if (one.named)
                doubles.push_back({one.run.name, same});
            continue;
        }
        places += placeCount(one.run.config);
        if (const Result<void> room = roomForPlaces(places, "the first " + std::to_string(runs.size() + 1) + " runs");
            !room) {
            errors.push_back(room.error());
            break;
        }
        runs.push_back(std::move(one));
    }
    return runs;
}

} // namespace

Result<std::size_t> bytesOf(const RunSpec &spec, const RunConfig &config) {
    Result<std::size_t> bytes = filledBytes(spec.command, config);
    if (!bytes)
        return bytes;
    *bytes += spec.command.size() * sizeof(std::string) + spec.name.size() + spec.note.size();
    for (const FieldSpec &field : runConfigFields())
        if (field.type == FieldType::Text || field.type == FieldType::List)
            *bytes += field.get(config).size();
    for (const auto &[name, value] : spec.claims.flags)
        *bytes += name.size() + value.size() + 2 * sizeof(std::string);
    if (spec.claims.known)
        for (const std::string &key : *spec.claims.known)
            *bytes += key.size() + sizeof(std::string);
    return bytes;
}

CoreList coresBesideDevices(const RunConfig &config, const CoreList &allowed) {
    CoreList left = allowed;
    if (config.device == "cpu")
        for (const std::string &device : config.devices)
            for (const int core :
                 coresOfCpuDevice(std::atoi(device.c_str()), config.coresPerDevice, allowed).value_or(CoreList{}))
                std::erase(left, core);
    return left;
}

std::string nameWithRepeat(const PlannedRun &run) {
    return run.repeats > 1 ? run.name + " #" + std::to_string(run.repeat) : run.name;
}

int Plan::runnableCount() const {
    return int(std::count_if(runs.begin(), runs.end(), [](const PlannedRun &run) { return run.runnable(); }));
}

tl::expected<Plan, std::vector<Error>> expand(const Recipe &recipe, const MachineFacts &facts,
                                              const PlanOptions &options) {
    std::vector<Error> errors;
    std::vector<DoubledRun> doubles;
    std::vector<Resolved> runs = resolveAll(recipe, facts, options, errors, doubles);
    if (errors.size() > mostMistakesNamed) // the runs behind them were not looked at
        return tl::unexpected(errors);
    if (runs.empty())
        errors.push_back(Error::badArgument("the recipe has no run", "add one"));
    int repeats = recipe.repeats;
    if (options.quick && runs.size() > 1)
        repeats = recipe.quick.value_or(QuickVariant{}).repeats;
    const std::optional<WidthGoal> goal = goalOf(recipe, options);
    if (goal)
        repeats = std::max(repeats, leastRoundsOfGoal);
    repeats = options.repeats.value_or(repeats);
    if (goal && runs.size() == 1)
        errors.push_back(Error::badArgument("one run can't be repeated until a width: it has no speed-up",
                                            "add a run to compare it with, or give repeats", "until_width"));
    else if (const auto mistake = goal ? mistakeOf(*goal, repeats) : std::nullopt)
        errors.push_back(*mistake);
    if (options.mostRounds && !goal)
        errors.push_back(Error::badArgument("limits the rounds that until_width adds, and there is no until_width",
                                            "give until_width, or repeats alone", "at_most"));
    if (repeats < 1 || repeats > 1000)
        errors.push_back(
            Error::badArgument(std::to_string(repeats) + " repeats are not possible", "use 1 to 1000", "repeats"));
    if (const auto mistake = tooLarge(runs, std::size_t(std::clamp(repeats, 1, 1000))))
        errors.push_back(*mistake);
    if (const auto mistake = savedOverStart(runs, repeats))
        errors.push_back(*mistake);
    if (options.sideBySide < 1 || options.sideBySide > mostSideBySide)
        errors.push_back(Error::badArgument(std::to_string(options.sideBySide) + " runs can't run side by side",
                                            "use 1 to " + std::to_string(mostSideBySide), "side_by_side"));
    if (!errors.empty())
        return tl::unexpected(errors);
    nameRuns(runs);
    const std::string reference = renewedReference(recipe, runs);
    if (const auto mistake = referenceMistake(recipe, reference, runs, options))
        return tl::unexpected(std::vector<Error>{*mistake});
    Plan plan;
    plan.notes = notesOnDoubles(doubles, runs);
    plan.title = recipe.title;
    plan.recipe = recipe.name;
    plan.reference = chooseReference(reference, runs);
    plan.orderSeed = options.orderSeed ? *options.orderSeed : recipe.orderSeed ? *recipe.orderSeed : newOrderSeed();
    plan.sideBySide = {options.sideBySide, facts.allowedCores, facts.gpuUuids};
    plan.untilWidth = goal;
    order(runs, repeats, options.estimate, plan);
    return plan;
}

} // namespace lockstep::core
