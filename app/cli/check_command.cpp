// SPDX-License-Identifier: MIT
// check: compares a new measurement with a base, or runs both from two revisions first.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

#include <QDir>
#include <QTemporaryDir>
#include <QThread>

#include "analysis/compare/gate.h"
#include "analysis/compare/repeat_group.h"
#include "checkout.h"
#include "commands.h"
#include "experiment/script_flags.h"
#include "experiment/study.h"
#include "experiment/width_goal.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "loaded_runs.h"
#include "output.h"
#include "prepared.h"
#include "queue/taking_turns.h"
#include "store/run_outcome.h"

namespace lockstep::cli {
namespace {

constexpr int defaultRepeats = 5;
constexpr const char *here = "working tree"; ///< the run of this folder

/// The run of the base: no revision gives it the other's name.
std::string baseNamed(const std::string &revision) {
    return "base git:" + revision;
}

using Outcomes = std::vector<core::RunOutcome>;
/// Of one name.
struct Repeats {
    Outcomes runs;
    /// A sentence for each run that its experiment names, but that is not its own.
    std::vector<std::string> strangers = {};
};
using ByName = std::map<std::string, Repeats>;

/// Repeats of an experiment that have no run here: they failed, were skipped or are still to come, or are done and their
/// folders were lost.
void addWithoutRun(const core::Experiment &experiment, ByName &out) {
    using enum core::EntryState;
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (entry.state != NotRun && (entry.run.empty() || !isThere(runFolder(entry.run).config()))) {
            core::RunOutcome outcome;
            outcome.name = entry.planned.name;
            outcome.repeat = entry.planned.repeat;
            outcome.state = entry.state == Failed    ? std::optional(RunState::Failed)
                            : entry.state == Stopped ? std::optional(RunState::Stopped)
                                                     : std::nullopt;
            outcome.missing = entry.state == Done;
            outcome.reason = entry.reason;
            out[outcome.name].runs.push_back(std::move(outcome));
        }
}

/// The runs of an experiment, or of ids separated by commas, by their names.
Result<ByName> runsNamed(const std::string &what) {
    std::vector<std::string> ids;
    for (const QString &id : QString::fromStdString(what).split(u','))
        ids.push_back(id.toStdString());
    const auto loaded = loadRuns(ids);
    if (!loaded)
        return fail(loaded.error());
    if (!loaded->unreadable.empty())
        return fail(Error::failed(loaded->unreadable.front(), "correct it, or name the runs that are to be compared"));
    std::map<std::string_view, const core::ExperimentEntry *> entries;
    if (loaded->experiment)
        for (const core::ExperimentEntry &entry : loaded->experiment->entries)
            entries.emplace(entry.run, &entry);
    ByName out;
    for (const auto &store : loaded->stores) {
        core::RunOutcome outcome = core::outcomeOf(*store);
        const auto entry = entries.find(outcome.run);
        std::string why = entry == entries.end() ? std::string()
                                                 : core::whyNotCounted(outcome, *entry->second, loaded->experiment->id);
        if (why.empty())
            out[outcome.name].runs.push_back(std::move(outcome));
        else
            out[entry->second->planned.name].strangers.push_back(std::move(why));
    }
    return out;
}

/// A new measurement may not pass for want of what failed or was left out.
Result<ByName> newRunsNamed(const std::string &what) {
    Result<ByName> out = runsNamed(what);
    if (!out || !isExperiment(what))
        return out;
    if (const auto experiment = core::readExperiment(what))
        addWithoutRun(*experiment, *out);
    return out;
}

/// The first run of the new measurement that is in the base, too, in a sentence; empty: there is none.
std::string whatBothHave(const ByName &base, const ByName &next) {
    const auto sentenceOf = [](const core::RunOutcome &old, const core::RunOutcome &run) -> std::string {
        if (!run.run.empty() && run.run == old.run)
            return "run " + run.run + " is named in both the base and the new measurement";
        if (!core::areOneMeasurement(old, run))
            return {};
        return "run " + run.run + (run.recorded ? " was recorded from the same files as" : " has the same log as") +
               " run " + old.run + " of the base";
    };
    for (const auto &[name, repeats] : next)
        for (const core::RunOutcome &run : repeats.runs)
            for (const auto &[baseName, ofBase] : base)
                for (const core::RunOutcome &old : ofBase.runs)
                    if (std::string sentence = sentenceOf(old, run); !sentence.empty())
                        return sentence;
    return {};
}

/// Of a run of the base that was not made again.
core::GateCase missingCase(const std::string &name, const Repeats &base) {
    core::GateCase out;
    out.name = name;
    out.baseRepeats = int(base.runs.size());
    out.reason = "is missing in the new measurement";
    return out;
}

/// Undecided if either names runs that are another experiment's: what they are of was not measured.
core::GateCase caseOf(const std::string &name, Repeats base, Repeats next, double mostSlower) {
    core::GateCase out = core::gateOf(name, std::move(base.runs), std::move(next.runs), mostSlower);
    std::vector<std::string> strangers = std::move(base.strangers);
    std::ranges::move(next.strangers, std::back_inserter(strangers));
    if (strangers.empty())
        return out;
    if (strangers.size() > 1)
        strangers.front() += "; " + std::to_string(strangers.size() - 1) + " more likewise";
    if (out.slower)
        core::saysNothing(out, strangers.front());
    else
        out.reason += "; " + strangers.front();
    return out;
}

/// Runs of the same name; where each side has one name only, those two.
Result<std::vector<core::GateCase>> casesOf(ByName base, ByName next, double mostSlower) {
    std::vector<core::GateCase> cases;
    if (base.size() == 1 && next.size() == 1) {
        auto &[name, repeats] = *next.begin();
        cases.push_back(caseOf(name, std::move(base.begin()->second), std::move(repeats), mostSlower));
        return cases;
    }
    if (std::ranges::none_of(base, [&](const auto &one) { return next.contains(one.first); }))
        return fail(Error::badArgument("the two have no run of the same name", "lockstepctl show ID lists them"));
    for (auto &[name, repeats] : base) {
        const auto found = next.find(name);
        cases.push_back(found == next.end() ? missingCase(name, repeats)
                                            : caseOf(name, std::move(repeats), std::move(found->second), mostSlower));
    }
    return cases;
}

/// The command in this folder, or in its place in the checkout.
core::RunSpec runIn(const Checkout *checkout, const std::string &name, const CheckOptions &options) {
    const auto leading = [&](const std::string &word) { return checkout ? checkout->leadingThere(word) : word; };
    core::RunSpec spec;
    spec.name = name;
    spec.config.method = Method::Baseline;
    spec.devices = {core::DeviceRequest::Kind::Count, 1};
    spec.config.devices = {"0"};
    spec.autoDevice = true;
    spec.config.coresPerDevice = std::max(1, QThread::idealThreadCount()); // as the command would run by itself
    spec.claims.known = core::placeKeys();
    const std::string limit = options.maxSteps ? "LOCKSTEP_MAX_STEPS=" + std::to_string(*options.maxSteps) + " " : "";
    const std::string folder = (checkout ? checkout->folder() : QDir::currentPath()).toStdString();
    // The agent puts folders of its own before those that it was given.
    const std::string given = qgetenv("PYTHONPATH").toStdString();
    std::vector<std::string> words = {
        "sh",
        "-c",
        "cd \"$1\" && PYTHONPATH=\"${PYTHONPATH%\"$2\"}$3\" && shift 3 && " + limit + "exec \"$@\"",
        "sh",
        folder,
        given,
        leading(given)};
    for (const std::string &word : options.what)
        words.push_back(leading(word));
    for (const std::string &word : words)
        spec.command.push_back(core::literalWord(word));
    return spec;
}

/// Runs both revisions, in turns if that is wanted and they can, or one after another; gives the experiment.
Result<std::string> runBoth(const CheckOptions &options, const Checkout &checkout, const std::string &base,
                            bool inTurns, int &exitCode) {
    core::Recipe recipe;
    recipe.name = recipe.title = "check against " + base;
    recipe.repeats = defaultRepeats;
    recipe.reference = baseNamed(base);
    recipe.runs = {runIn(&checkout, recipe.reference, options), runIn(nullptr, here, options)};
    const QTemporaryDir folder;
    RunOptions run = options.run;
    run.outlivesTerminal = false; // nobody would remove the checkout
    run.recipe = folder.filePath(QStringLiteral("check.json")).toStdString();
    run.results = false;
    run.json = options.json;
    if (const auto written = writeFile(run.recipe, core::toJson(recipe)); !written)
        return fail(written.error());
    auto experiment = prepare(run);
    if (!experiment)
        return fail(experiment.error().front());
    // A GPU goes on with what it was given while its process stands still, and lockstep-trainer's clock doesn't leave pauses out. Behind a
    // script it is core::whyNotInTurns that finds it, after the first run.
    core::SideBySide &places = experiment->sideBySide;
    places.inTurns =
        inTurns && places.gpus.empty() && !QString::fromStdString(options.what.front()).endsWith(u"lockstep-trainer");
    if (places.inTurns)
        places.runs = int(recipe.runs.size());
    if (const auto written = core::createExperiment(*experiment); !written)
        return fail(written.error());
    run.experiment = experiment->id;
    exitCode = runCommand(run);
    return experiment->id;
}

std::string whyNotInTurns(const std::string &experiment) {
    const auto read = core::readExperiment(experiment);
    return read ? core::whyNotInTurns(*read) : std::string();
}

/// What the runs say that they have read.
FileDigests filesOf(const Outcomes &runs) {
    FileDigests out;
    for (const core::RunOutcome &run : runs)
        out.insert(run.conditions.files.begin(), run.conditions.files.end());
    return out;
}

int conclude(const std::vector<core::GateCase> &cases, double mostSlower, const CheckOptions &options) {
    if (!options.junit.empty())
        if (const auto written = writeFile(options.junit, core::toJUnit(cases)); !written)
            return complain(written.error());
    if (!options.markdown.empty())
        if (const auto written = writeFile(options.markdown, core::toMarkdown(cases, mostSlower)); !written)
            return complain(written.error());
    print(options.json ? core::toJson(cases, mostSlower) : core::toText(cases));
    switch (core::worstOf(cases)) {
    case core::GateOutcome::Passed:
        return Done;
    case core::GateOutcome::Slower:
        return Failed;
    case core::GateOutcome::Undecided:
        break;
    }
    return Undecided;
}

} // namespace

int checkCommand(CheckOptions options) {
    auto mostSlower = core::widthFrom(options.maxSlower);
    if (!mostSlower) {
        mostSlower.error().where = "--max-slower";
        return complain(mostSlower.error());
    }
    Result<ByName> base = ByName(), next = ByName();
    Result<std::string> same = std::string(); // a file that both sides ran though it should differ
    if (options.against.empty()) {
        if (options.what.size() != 2)
            return complain(Error::badArgument("a base and a new measurement are needed",
                                               "lockstepctl check BASE NEW, or --against git:main -- python train.py"));
        base = runsNamed(options.what.front());
        next = newRunsNamed(options.what.back());
        if (!base || !next)
            return complain(base ? next.error() : base.error());
        if (const std::string both = whatBothHave(*base, *next); !both.empty())
            return complain(
                Error::badArgument(both, "name the runs of each; one that is compared with itself says nothing"));
    } else {
        const std::string revision = options.against.starts_with("git:") ? options.against.substr(4) : options.against;
        if (const auto forgotten = forgetVariablesOfGit(); !forgotten)
            return complain(forgotten.error());
        Checkout checkout;
        if (const auto made = checkout.make(revision); !made)
            return complain(made.error());
        int exitCode = Done;
        auto experiment = runBoth(options, checkout, revision, !options.oneAfterAnother, exitCode);
        if (const std::string why = experiment ? whyNotInTurns(*experiment) : ""; !why.empty()) {
            std::fprintf(stderr, "%s. They run one after another now, as with --one-after-another\n",
                         printable(why).c_str());
            experiment = runBoth(options, checkout, revision, false, exitCode);
        }
        if (!experiment)
            return complain(experiment.error());
        if (exitCode != Done)
            return exitCode;
        auto both = newRunsNamed(*experiment);
        if (!both)
            return complain(both.error());
        const std::string named = baseNamed(revision);
        same = checkout.readFromHere(filesOf((*both)[named].runs), filesOf((*both)[here].runs));
        if (!same)
            return complain(same.error());
        *base = {{here, (*both)[named]}};
        *next = {{here, (*both)[here]}};
    }
    auto cases = casesOf(std::move(*base), std::move(*next), *mostSlower);
    if (cases && !same->empty())
        for (core::GateCase &one : *cases)
            if (one.slower)
                core::saysNothing(one, "both ran the working tree's " + *same +
                                           ", of which the base has another version: an editable install, for example");
    return cases ? conclude(*cases, *mostSlower, options) : complain(cases.error());
}

} // namespace lockstep::cli
