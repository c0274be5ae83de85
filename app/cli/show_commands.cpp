// SPDX-License-Identifier: MIT
// Read-only commands: recipes, show, compare.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>
#include <QFile>

#include "analysis/causes/pipeline_step.h"
#include "analysis/causes/watching.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/compare/time_to_target.h"
#include "base/command_prefix.h"
#include "base/format.h"
#include "commands.h"
#include "experiment/recipe.h"
#include "export/export.h"
#include "ipc/alerts.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "loaded_runs.h"
#include "models/cells.h"
#include "models/run_topology.h"
#include "output.h"
#include "queue/queue_origin.h"
#include "result_text.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The line of PyTorch that a run's nodes used, and why.
std::string torchText(const core::RunStore &store) {
    const QString sentence = store.record() ? core::torchSentence(*store.record()) : QString();
    return sentence.isEmpty() ? std::string() : "  " + sentence.toStdString() + "\n";
}

/// "updates by staleness: 0 61 %, 1 30 %, 2 9 % (mean 0.48)"; empty without any.
std::string stalenessText(const core::RunUpdates &updates) {
    const auto counts = updates.byStaleness();
    const auto all = double(std::accumulate(counts.begin(), counts.end(), std::int64_t(0)));
    if (!(all > 0))
        return {};
    QStringList shares;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > 0)
            shares.append(QStringLiteral("%1%2 %3").arg(i).arg(
                i == std::size_t(mostStaleness) ? QStringLiteral(" or more") : QString(),
                core::percent(double(counts[i]) / all, 1)));
    return QStringLiteral("updates by staleness: %1 (mean %2)")
        .arg(shares.join(QStringLiteral(", ")))
        .arg(core::meanStaleness(counts), 0, 'g', 3)
        .toStdString();
}

/// "stages computing: cpu:0 93 %, cpu:1 42 %, of a step of 12.1 ms; idle 33 %, equally long ones 20 %"; empty without a pipeline.
std::string stagesText(const core::RunStore &store) {
    const auto step = core::pipelineStep(store);
    if (!step)
        return {};
    QStringList busy;
    for (const core::PipelineStage &stage : step->stages)
        busy.append(QStringLiteral("%1 %2").arg(core::qs(stage.device), core::percent(stage.busyS / step->lengthS, 0)));
    return QStringLiteral("stages computing: %1, of a step of %2 ms; idle %3, equally long ones %4")
        .arg(busy.join(QStringLiteral(", ")), core::significant(step->lengthS * 1e3), core::percent(step->idle, 0),
             core::percent(step->balancedIdle, 0))
        .toStdString();
}

/// Whether this machine's copy of a remote queue is complete: the queue is over and all results are here.
bool wholeHere(const LoadedRuns &loaded) {
    return loaded.experiment->over() &&
           std::ranges::all_of(loaded.stores, [](const auto &store) { return store->result().has_value(); }) &&
           std::ranges::count_if(loaded.experiment->entries, [](const auto &entry) { return !entry.run.empty(); }) ==
               std::ssize(loaded.stores);
}

/// Published figures: "72.8 s (total, as printed), accuracy 99.1 %".
std::string printedText(const core::PublishedRun &run) {
    std::string text;
    if (run.timeS)
        text += core::seconds(run.timeS).toStdString() + (run.timeKind.empty() ? "" : " (" + run.timeKind + ")");
    if (run.testAccuracy)
        text += (text.empty() ? "accuracy " : ", accuracy ") + core::percent(run.testAccuracy).toStdString();
    if (text.empty())
        return run.note.empty() ? "neither time nor accuracy is printed" : run.note;
    return text;
}

} // namespace

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
                text +=
                    "    published, " + recipe->published->machine + ": " + run.name + ": " + printedText(run) + "\n";
    }
    print(json ? dump(all) : text);
    return Done;
}

int showCommand(const std::string &id, bool json, bool all) {
    const auto loaded = loadRuns({id});
    if (!loaded)
        return complain(loaded.error());
    if (const auto origin = core::queueOriginOf(id); origin && loaded->experiment && !wholeHere(*loaded))
        std::fprintf(stderr,
                     "the queue of %s is on %s and this is its last known state; lockstepctl attach %s fetches the "
                     "rest\n",
                     id.c_str(), origin->prefix.host.c_str(), id.c_str());
    if (loaded->experiment || loaded->stores.empty()) {
        print(json ? loaded->exported(core::ExportFormat::Json) : loaded->text(all));
        return Done;
    }
    const core::RunStore &store = *loaded->stores.front();
    if (json) {
        Json out = Json::object();
        out["record"] = store.record() ? Json::parse(toJson(*store.record())) : Json(nullptr);
        out["result"] = store.result() ? Json::parse(toJson(*store.result())) : Json(nullptr);
        out["state"] = store.lifecycle().sentence().toStdString();
        out["results"] = Json::parse(loaded->exported(core::ExportFormat::Json));
        print(dump(out));
        return Done;
    }
    std::string text = id + "  " + onOneLine(store.identity().title().toStdString()) + "  " +
                       onOneLine(store.lifecycle().sentence().toStdString()) + "\n";
    if (store.record() && isScript(*store.record()) && !store.record()->command.empty()) {
        text += "  command";
        for (const std::string &word : store.record()->command)
            text += " " + core::quoteForShell(word);
        text += "\n";
    }
    if (!store.identity().about().empty()) {
        text += "  it reports";
        for (const auto &[key, value] : store.identity().about())
            text += " " + onOneLine(key) + "=" + onOneLine(value);
        text += "\n";
    }
    text += torchText(store);
    for (const auto &[rank, info] : store.ranks().all())
        text += "  rank " + std::to_string(rank) + "  " + (info.device.empty() ? "-" : onOneLine(info.device)) +
                "  cores " + (info.cores.empty() ? "-" : onOneLine(info.cores)) + "  " + onOneLine(info.host) + "\n";
    if (const std::string stale = stalenessText(store.updates()); !stale.empty())
        text += "  " + stale + "\n";
    if (const std::string stages = stagesText(store); !stages.empty())
        text += "  " + stages + "\n";
    const bool heard = !store.lifecycle().unknown() && !store.lifecycle().agentDied();
    for (const auto &[node, link] : store.links().all()) {
        text += "  node " + std::to_string(node) + "  " + sentenceOf(link, heard);
        if (link.losses > 0)
            text += ", lost " + std::to_string(link.losses) + (link.losses == 1 ? " time" : " times");
        if (link.clockOffsetS && link.roundTripS)
            text += QStringLiteral(", clock %1 ms %2, round trip %3 ms")
                        .arg(std::abs(*link.clockOffsetS) * 1e3, 0, 'f', 1)
                        .arg(*link.clockOffsetS < 0 ? QStringLiteral("behind") : QStringLiteral("ahead"))
                        .arg(*link.roundTripS * 1e3, 0, 'f', 2)
                        .toStdString();
        text += "\n";
    }
    if (store.result() && store.result()->watching)
        text += "  " +
                core::watchingText(*store.result()->watching,
                                   store.record() ? store.record()->freeCores : std::optional<int>(),
                                   store.result()->runTimeS)
                    .toStdString() +
                "\n";
    if (store.result() && store.result()->surroundings)
        if (const QString around = core::surroundingsText(*store.result()->surroundings); !around.isEmpty())
            text += "  " + around.toStdString() + "\n";
    if (store.result() && store.result()->turns)
        text +=
            "  took turns with the other runs of its round and stood still for " +
            core::seconds(store.result()->turns->pausedS).toStdString() +
            (store.result()->turns->counted ? ", which times here may include\n" : ", which no time here includes\n");
    std::set<std::string> advised;
    for (const core::AlertLine &alert : store.messages().alerts()) {
        text += "  ! " + onOneLine(alert.alert.message) + "\n";
        if (const std::string advice = adviceFor(alert.alert.kind);
            !advice.empty() && advised.insert(alert.alert.kind).second)
            text += "    what to do: " + advice + "\n";
    }
    for (const LogGap &gap : store.log().gaps.listed())
        text += "  ! " + gap.text() + "\n";
    if (const std::string others = store.log().gaps.textOfOthers(); !others.empty())
        text += "  ! " + others + "\n";
    print(text + "\n" + loaded->text(all));
    return Done;
}

int compareCommand(const CompareOptions &options) {
    const auto loaded = loadRuns(options.runs);
    if (!loaded)
        return complain(loaded.error());
    std::vector<core::Target> targets;
    if (options.targetAccuracy)
        targets.push_back({core::Target::Kind::Accuracy, *options.targetAccuracy});
    if (options.targetLoss)
        targets.push_back({core::Target::Kind::Loss, *options.targetLoss});
    const std::vector<core::RepeatGroup> groups = loaded->groups();
    std::string text = options.json ? std::string() : loaded->text(options.all);
    Json json = options.json ? Json::parse(loaded->exported(core::ExportFormat::Json)) : Json();
    for (const core::Target &target : targets) {
        const auto times = core::timesToTarget(groups, target);
        if (options.json)
            json["time_to_target"].push_back(Json::parse(core::toJson(target, times)));
        else
            text += "\n" + targetText(target, times);
    }
    print(options.json ? dump(json) : text);
    return Done;
}

} // namespace lockstep::cli
