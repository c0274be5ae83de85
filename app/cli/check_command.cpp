// SPDX-License-Identifier: MIT
// check: compares a new measurement with a base, or runs both from two revisions first.
#include <algorithm>
#include <map>

#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QThread>

#include "analysis/compare/gate.h"
#include "commands.h"
#include "experiment/script_flags.h"
#include "experiment/study.h"
#include "experiment/width_goal.h"
#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "loaded_runs.h"
#include "output.h"
#include "prepared.h"
#include "store/run_outcome.h"

namespace lockstep::cli {
namespace {

constexpr int defaultRepeats = 5;
constexpr const char *here = "here"; ///< the run of the working tree

using Outcomes = std::vector<core::RunOutcome>;
using ByName = std::map<std::string, Outcomes>;

/// Repeats of an experiment that failed before there was a run of them.
void addUnbegun(const core::Experiment &experiment, ByName &out) {
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (entry.state == core::EntryState::Failed && (entry.run.empty() || !isThere(runFolder(entry.run).config()))) {
            core::RunOutcome outcome;
            outcome.name = entry.planned.name;
            outcome.repeat = entry.planned.repeat;
            outcome.state = RunState::Failed;
            outcome.reason = entry.reason;
            out[outcome.name].push_back(std::move(outcome));
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
    ByName out;
    for (const auto &store : loaded->stores) {
        core::RunOutcome outcome = core::outcomeOf(*store);
        out[outcome.name].push_back(std::move(outcome));
    }
    return out;
}

/// A new measurement may not pass for want of what failed.
Result<ByName> newRunsNamed(const std::string &what) {
    Result<ByName> out = runsNamed(what);
    if (!out || !isExperiment(what))
        return out;
    if (const auto experiment = core::readExperiment(what))
        addUnbegun(*experiment, *out);
    return out;
}

/// Of a run of the base that was not made again.
core::GateCase missingCase(const std::string &name, const Outcomes &base) {
    core::GateCase out;
    out.name = name;
    out.baseRepeats = int(base.size());
    out.reason = "is missing in the new measurement";
    return out;
}

/// Runs of the same name; where each side has one name only, those two.
Result<std::vector<core::GateCase>> casesOf(ByName base, ByName next, double mostSlower) {
    std::vector<core::GateCase> cases;
    if (base.size() == 1 && next.size() == 1) {
        auto &[name, runs] = *next.begin();
        cases.push_back(core::gateOf(name, std::move(base.begin()->second), std::move(runs), mostSlower));
        return cases;
    }
    if (std::ranges::none_of(base, [&](const auto &one) { return next.contains(one.first); }))
        return fail(Error::badArgument("the two have no run of the same name", "lockstepctl show ID lists them"));
    for (auto &[name, runs] : base) {
        const auto found = next.find(name);
        cases.push_back(found == next.end()
                            ? missingCase(name, runs)
                            : core::gateOf(name, std::move(runs), std::move(found->second), mostSlower));
    }
    return cases;
}

/// git's answer, without its last newline.
Result<std::string> git(const QStringList &words) {
    QProcess process;
    process.start(QStringLiteral("git"), words);
    const bool answered = process.waitForStarted() && process.waitForFinished(-1);
    if (!answered)
        return fail(Error::failed("git can't be run: " + process.errorString().toStdString(), "install git"));
    if (process.exitCode() != 0)
        return fail(Error::badArgument("git " + words.front().toStdString() + ": " +
                                           process.readAllStandardError().trimmed().toStdString(),
                                       "name a revision of the repository in this folder", "--against"));
    return process.readAllStandardOutput().trimmed().toStdString();
}

/// A checkout of a revision, which is removed at the end.
class Checkout {
public:
    ~Checkout() {
        if (m_made)
            (void)git({QStringLiteral("worktree"), QStringLiteral("remove"), QStringLiteral("--force"), folder()});
    }
    Result<void> make(const std::string &revision) {
        const auto made = git({QStringLiteral("worktree"), QStringLiteral("add"), QStringLiteral("--detach"),
                               QStringLiteral("--quiet"), folder(), QString::fromStdString(revision)});
        if (!made)
            return fail(made.error());
        m_made = true;
        return {};
    }
    [[nodiscard]] QString folder() const { return m_parent.filePath(QStringLiteral("base")); }

private:
    QTemporaryDir m_parent;
    bool m_made = false;
};

/// The command in a folder.
core::RunSpec runIn(const QString &folder, const std::string &name, const CheckOptions &options) {
    core::RunSpec spec;
    spec.name = name;
    spec.config.method = Method::Baseline;
    spec.devices = {core::DeviceRequest::Kind::Count, 1};
    spec.config.devices = {"0"};
    spec.autoDevice = true;
    spec.config.coresPerDevice = std::max(1, QThread::idealThreadCount()); // as the command would run by itself
    spec.claims.known = core::placeKeys();
    const std::string limit = options.maxSteps ? "LOCKSTEP_MAX_STEPS=" + std::to_string(*options.maxSteps) + " " : "";
    spec.command = {"sh", "-c", "cd \"$1\" && shift && " + limit + "exec \"$@\"", "sh",
                    core::literalWord(folder.toStdString())};
    for (const std::string &word : options.what)
        spec.command.push_back(core::literalWord(word));
    return spec;
}

/// Runs both revisions; gives the experiment.
Result<std::string> runBoth(const CheckOptions &options, const Checkout &checkout, const std::string &base,
                            int &exitCode) {
    const auto prefix = git({QStringLiteral("rev-parse"), QStringLiteral("--show-prefix")});
    if (!prefix)
        return fail(prefix.error());
    core::Recipe recipe;
    recipe.name = recipe.title = "check against " + base;
    recipe.repeats = defaultRepeats;
    recipe.reference = base;
    recipe.runs = {runIn(checkout.folder() + u'/' + QString::fromStdString(*prefix), base, options),
                   runIn(QDir::currentPath(), here, options)};
    const QTemporaryDir folder;
    RunOptions run = options.run;
    run.recipe = folder.filePath(QStringLiteral("check.json")).toStdString();
    run.results = false;
    run.json = options.json;
    if (const auto written = writeFile(run.recipe, core::toJson(recipe)); !written)
        return fail(written.error());
    const auto experiment = prepare(run);
    if (!experiment)
        return fail(experiment.error().front());
    if (const auto written = core::createExperiment(*experiment); !written)
        return fail(written.error());
    run.experiment = experiment->id;
    exitCode = runCommand(run);
    return experiment->id;
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
    if (options.against.empty()) {
        if (options.what.size() != 2)
            return complain(Error::badArgument("a base and a new measurement are needed",
                                               "lockstepctl check BASE NEW, or --against git:main -- python train.py"));
        base = runsNamed(options.what.front());
        next = newRunsNamed(options.what.back());
        if (!base || !next)
            return complain(base ? next.error() : base.error());
    } else {
        const std::string revision = options.against.starts_with("git:") ? options.against.substr(4) : options.against;
        Checkout checkout;
        if (const auto made = checkout.make(revision); !made)
            return complain(made.error());
        int exitCode = Done;
        const auto experiment = runBoth(options, checkout, revision, exitCode);
        if (!experiment)
            return complain(experiment.error());
        if (exitCode != Done)
            return exitCode;
        auto both = newRunsNamed(*experiment);
        if (!both)
            return complain(both.error());
        *base = {{here, (*both)[revision]}};
        *next = {{here, (*both)[here]}};
    }
    const auto cases = casesOf(std::move(*base), std::move(*next), *mostSlower);
    return cases ? conclude(*cases, *mostSlower, options) : complain(cases.error());
}

} // namespace lockstep::cli
