// What looks and changes nothing: list, recipes, show, compare.
#include <nlohmann/json.hpp>
#include <QFile>

#include "analysis/format.h"
#include "commands.h"
#include "export/export.h"
#include "ipc/file_system.h"
#include "launch/recipe.h"
#include "loaded_runs.h"
#include "output.h"
#include "result_text.h"
#include "store/run_index.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
Json orNull(std::optional<double> value) {
    return value ? Json(*value) : Json(nullptr);
}

std::string experimentState(const core::Experiment &experiment) {
    if (!experiment.over())
        return core::isOwned(experiment.id) ? "running" : "waits for an owner";
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (entry.state == core::EntryState::Failed || entry.state == core::EntryState::Stopped)
            return std::string(core::toString(entry.state));
    return "done";
}

Json runJson(const core::IndexedRun &run) {
    return {{"run", run.run},
            {"name", run.name},
            {"experiment", run.experiment},
            {"recipe", run.recipe},
            {"repeat", run.repeat},
            {"state", run.state},
            {"reason", run.reason},
            {"method", run.method},
            {"devices", run.devices},
            {"device_kind", run.device},
            {"backend", run.backend},
            {"start_wall_us", run.startWallUs},
            {"total_training_time_s", orNull(run.totalTrainingTimeS)},
            {"run_time_s", orNull(run.runTimeS)},
            {"test_accuracy", orNull(run.testAccuracy)},
            {"final_loss", orNull(run.finalLoss)}};
}

void listJson(const std::vector<core::Experiment> &experiments, const std::vector<core::IndexedRun> &runs) {
    Json json = {{"experiments", Json::array()}, {"runs", Json::array()}};
    for (const core::Experiment &experiment : experiments)
        json["experiments"].push_back({{"experiment", experiment.id},
                                       {"title", experiment.title},
                                       {"state", experimentState(experiment)},
                                       {"runs", experiment.runnableCount()},
                                       {"over", experiment.overCount()}});
    for (const core::IndexedRun &run : runs)
        json["runs"].push_back(runJson(run));
    print(dump(json));
}

} // namespace

int listCommand(bool json) {
    auto index = core::RunIndex::open();
    if (!index)
        return complain(index.error());
    if (const auto refreshed = index->refresh(); !refreshed)
        return complain(refreshed.error());
    const std::vector<core::IndexedRun> runs = index->runs();
    std::vector<core::Experiment> experiments;
    for (const std::string &id : core::listExperiments())
        if (auto experiment = core::readExperiment(id))
            experiments.push_back(std::move(*experiment));
    if (json) {
        listJson(experiments, runs);
        return Done;
    }
    if (experiments.empty() && runs.empty()) {
        print("No runs yet. Start one: lockstepctl run lenet-dp-vs-ddp --quick\n");
        return Done;
    }
    std::vector<std::vector<std::string>> rows = {{"experiment", "title", "runs", "state"}};
    for (const core::Experiment &experiment : experiments)
        rows.push_back({experiment.id, experiment.title,
                        std::to_string(experiment.overCount()) + "/" + std::to_string(experiment.runnableCount()),
                        experimentState(experiment)});
    std::string text = experiments.empty() ? std::string() : aligned(rows) + "\n";
    rows = {{"run", "started", "name", "state", "training s", "run s", "accuracy", "experiment"}};
    for (const core::IndexedRun &run : runs)
        rows.push_back({run.run, core::wallTime(run.startWallUs).toStdString(), run.name.empty() ? "-" : run.name,
                        run.state, core::significant(run.totalTrainingTimeS).toStdString(),
                        core::significant(run.runTimeS).toStdString(), core::percent(run.testAccuracy).toStdString(),
                        run.experiment.empty() ? "-" : run.experiment});
    print(text + aligned(rows));
    return Done;
}

int recipesCommand(bool json) {
    Json all = Json::array();
    std::string text;
    for (const std::string &name : core::builtInRecipes()) {
        const auto recipe = core::loadRecipe(name);
        if (!recipe)
            return complain(recipe.error());
        all.push_back(Json::parse(core::toJson(*recipe)));
        text += recipe->name + "\n  " + recipe->summary + "\n";
        if (recipe->published)
            for (const core::PublishedRun &run : recipe->published->runs)
                text += "    published, " + recipe->published->machine + ": " + run.name + "  " +
                        core::seconds(run.timeS).toStdString() + " (" + run.timeKind + ")  " +
                        core::percent(run.testAccuracy).toStdString() + "\n";
    }
    print(json ? dump(all) : text);
    return Done;
}

int showCommand(const std::string &id, bool json) {
    const auto loaded = loadRuns({id});
    if (!loaded)
        return complain(loaded.error());
    if (loaded->experiment || loaded->stores.empty()) {
        print(json ? core::exportResults(loaded->table(), core::ExportFormat::Json) : resultText(loaded->table()));
        return Done;
    }
    const core::RunStore &store = *loaded->stores.front();
    if (json) {
        Json out = Json::object();
        out["record"] = store.record() ? Json::parse(toJson(*store.record())) : Json(nullptr);
        out["result"] = store.result() ? Json::parse(toJson(*store.result())) : Json(nullptr);
        out["state"] = store.stateSentence().toStdString();
        out["results"] = Json::parse(core::exportResults(loaded->table(), core::ExportFormat::Json));
        print(dump(out));
        return Done;
    }
    std::string text = id + "  " + store.title().toStdString() + "  " + store.stateSentence().toStdString() + "\n";
    for (const auto &[rank, info] : store.ranks())
        text += "  rank " + std::to_string(rank) + "  " + info.device + "  cores " +
                (info.cores.empty() ? "-" : info.cores) + "  " + info.host + "\n";
    for (const core::AlertLine &alert : store.alerts())
        text += "  ! " + alert.alert.message + "\n";
    for (const LogGap &gap : store.gaps())
        text += "  ! " + std::to_string(gap.count()) + " frames lost, seq " + std::to_string(gap.firstSeq) + "-" +
                std::to_string(gap.lastSeq) + "\n";
    print(text + "\n" + resultText(loaded->table()));
    return Done;
}

int compareCommand(const std::vector<std::string> &runs, bool json) {
    const auto loaded = loadRuns(runs);
    if (!loaded)
        return complain(loaded.error());
    print(json ? core::exportResults(loaded->table(), core::ExportFormat::Json) : resultText(loaded->table()));
    return Done;
}

} // namespace lockstep::cli
