#include "loaded_runs.h"

#include <filesystem>

#include "ipc/run_folder.h"

namespace lockstep::cli {
namespace {

Result<std::unique_ptr<core::RunStore>> loadOne(const std::string &id) {
    if (!isRunId(id) || !std::filesystem::exists(runFolder(id).config()))
        return fail(
            Error::badArgument("there is no run and no experiment " + id.substr(0, 80), "lockstepctl list shows them"));
    auto store = std::make_unique<core::RunStore>(QString::fromStdString(id));
    if (const Result<void> loaded = core::loadRun(*store, runFolder(id)); !loaded)
        return fail(loaded.error());
    return store;
}

} // namespace

bool isExperiment(const std::string &id) {
    return isRunId(id) && std::filesystem::exists(core::experimentFolder(id).json());
}

Result<LoadedRuns> loadRuns(const std::vector<std::string> &ids) {
    LoadedRuns loaded;
    std::vector<std::string> runs = ids;
    if (ids.size() == 1 && isExperiment(ids.front())) {
        Result<core::Experiment> experiment = core::readExperiment(ids.front());
        if (!experiment)
            return fail(experiment.error());
        runs.clear();
        for (const core::ExperimentEntry &entry : experiment->entries)
            if (!entry.run.empty() && std::filesystem::exists(runFolder(entry.run).config()))
                runs.push_back(entry.run);
        loaded.experiment = std::move(*experiment);
    }
    for (const std::string &run : runs) {
        auto store = loadOne(run);
        if (!store)
            return fail(store.error());
        loaded.stores.push_back(std::move(*store));
    }
    return loaded;
}

core::ResultTable LoadedRuns::table() const {
    std::vector<core::RunOutcome> outcomes;
    for (const auto &store : stores)
        outcomes.push_back(store->outcome());
    return experiment ? core::resultTable(*experiment, outcomes) : core::resultTable(outcomes);
}

std::vector<core::ExportedCurve> LoadedRuns::curves() const {
    std::vector<core::ExportedCurve> out;
    for (const auto &store : stores)
        out.push_back({store->runId().toStdString(), store->title().toStdString(), store->method().toStdString(),
                       store->loss().points()});
    return out;
}

} // namespace lockstep::cli
