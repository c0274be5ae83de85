// SPDX-License-Identifier: MIT
#include "loaded_runs.h"

#include <algorithm>

#include "ipc/file_system.h"
#include "ipc/run_folder.h"
#include "models/run_set.h"
#include "queue/queue_origin.h"
#include "queue/queue_run.h"
#include "result_text.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/status_reader.h"

namespace lockstep::cli {
namespace {

Error noSuch(const std::string &id) {
    return Error::badArgument("there is no run and no experiment " + id.substr(0, 80), "lockstepctl list shows them");
}

Error notAlone(const std::string &experiment) {
    return Error::badArgument(experiment + " is an experiment, and an experiment can't be named with others",
                              "give it alone, or its runs: lockstepctl show " + experiment + " lists them");
}

/// A run named twice is no further repeat.
std::vector<std::string> eachOnce(const std::vector<std::string> &ids) {
    std::vector<std::string> out;
    for (const std::string &id : ids)
        if (std::ranges::find(out, id) == out.end())
            out.push_back(id);
    return out;
}

Result<std::unique_ptr<core::RunStore>> loadOne(const std::string &id, core::StatusReader &statuses) {
    auto store = std::make_unique<core::RunStore>(QString::fromStdString(id));
    if (const Result<void> loaded = core::loadRun(*store, runFolder(id), statuses); !loaded)
        return fail(loaded.error());
    return store;
}

} // namespace

bool isExperiment(const std::string &id) {
    return isRunId(id) && isThere(core::experimentFolder(id).json());
}

Result<std::vector<std::string>> runsOf(const std::vector<std::string> &ids) {
    if (ids.size() != 1 || !isExperiment(ids.front())) {
        for (const std::string &id : ids)
            if (!isRunId(id) || !isThere(runFolder(id).config()))
                return fail(isExperiment(id) ? notAlone(id) : noSuch(id));
        return eachOnce(ids);
    }
    const Result<core::Experiment> experiment = core::readExperiment(ids.front());
    if (!experiment)
        return fail(experiment.error());
    std::vector<std::string> runs;
    for (const core::ExperimentEntry &entry : experiment->entries)
        if (!entry.run.empty() && isThere(runFolder(entry.run).config()))
            runs.push_back(entry.run);
    return runs;
}

Result<LoadedRuns> loadRuns(const std::vector<std::string> &ids) {
    LoadedRuns loaded;
    const auto runs = runsOf(ids);
    if (!runs)
        return fail(runs.error());
    if (ids.size() == 1 && isExperiment(ids.front()))
        if (Result<core::Experiment> experiment = core::readExperiment(ids.front())) {
            if (!core::queueOriginOf(ids.front()))
                core::takeEndsWithoutOwner(*experiment);
            loaded.experiment = std::move(*experiment);
        }
    core::StatusReader statuses;
    for (const std::string &run : *runs) {
        auto store = loadOne(run, statuses);
        if (store)
            loaded.stores.push_back(std::move(*store));
        else if (loaded.experiment)
            loaded.unreadable.push_back("run " + run +
                                        " is left out, since it can't be read: " + store.error().message());
        else
            return fail(store.error());
    }
    return loaded;
}

std::vector<core::RunOutcome> LoadedRuns::outcomes() const {
    std::vector<core::RunOutcome> out;
    for (const auto &store : stores)
        out.push_back(core::outcomeOf(*store));
    return out;
}

core::ResultTable LoadedRuns::table(const std::vector<core::RunOutcome> &outcomes) const {
    core::ResultTable out = experiment ? core::resultTable(*experiment, outcomes) : core::resultTable(outcomes);
    out.notes.insert(out.notes.end(), unreadable.begin(), unreadable.end());
    return out;
}

core::Report LoadedRuns::report() const {
    const std::vector<core::RunOutcome> all = outcomes();
    core::Report out =
        core::reportOf(table(all), all, experiment ? experiment->recipe.varies : std::vector<std::string>(), curves());
    std::vector<const core::RunStore *> runs;
    for (const auto &store : stores)
        runs.push_back(store.get());
    out.anatomies = core::stepAnatomies(out.table, runs);
    return out;
}

std::vector<core::RepeatGroup> LoadedRuns::groups() const {
    const std::vector<core::RunOutcome> all = outcomes();
    return core::groupsOf(table(all), all);
}

std::string LoadedRuns::exported(core::ExportFormat format) const {
    return core::exportResults(report(), format);
}

std::string LoadedRuns::text(bool all) const {
    const core::Report whole = report();
    return resultText(whole.table, whole.judgement, all);
}

std::vector<core::ExportedCurve> LoadedRuns::curves() const {
    std::vector<core::ExportedCurve> out;
    std::vector<QString> names;
    for (const auto &store : stores) {
        out.push_back(core::exportedCurve(*store));
        names.push_back(QString::fromStdString(out.back().name));
    }
    names = core::numberedNames(std::move(names));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i].name = names[i].toStdString();
    return out;
}

} // namespace lockstep::cli
