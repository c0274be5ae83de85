// SPDX-License-Identifier: MIT
#include "experiment/published_reader.h"

#include <algorithm>

#include "ipc/nearest_word.h"
#include "ipc/run_title.h"
#include "ipc/thousands.h"

namespace lockstep::core {
namespace {

constexpr double noLimit = 1e300;
constexpr std::size_t mostPublishedRuns = 1'000;

PublishedRun readPublishedRun(KeyReader &keys, const JsonNode &run) {
    keys.refuseUnknown(run, {"name", "method", "devices", "backend", "workers", "time_s", "time_kind",
                             "printed_speed_up", "test_accuracy", "epoch_loss", "epoch_duration_s",
                             "per_class_accuracy", "utilisation", "note"});
    PublishedRun out;
    out.name = presentTitle(keys.text(run, "name", true));
    out.method = keys.text(run, "method", true);
    out.devices = int(keys.whole(run, "devices", 1, 1'000'000).value_or(1));
    out.backend = keys.text(run, "backend");
    if (const auto workers = keys.whole(run, "workers", 0, 100'000))
        out.workers = int(*workers);
    out.timeS = keys.number(run, "time_s", 0, noLimit);
    out.timeKind = keys.text(run, "time_kind", out.timeS.has_value());
    out.printedSpeedUp = keys.number(run, "printed_speed_up", 0, noLimit);
    out.testAccuracy = keys.number(run, "test_accuracy", 0, 1);
    const std::vector<double> losses = keys.numbers(run, "epoch_loss", 0, noLimit);
    const std::vector<double> durations = keys.numbers(run, "epoch_duration_s", 0, noLimit);
    for (std::size_t i = 0; i < std::max(losses.size(), durations.size()); ++i) {
        PublishedEpoch epoch{int(i) + 1, std::nullopt, std::nullopt};
        if (i < losses.size())
            epoch.loss = losses[i];
        if (i < durations.size())
            epoch.durationS = durations[i];
        out.epochs.push_back(epoch);
    }
    out.perClassAccuracy = keys.numbers(run, "per_class_accuracy", 0, 1);
    out.utilisation = keys.text(run, "utilisation");
    out.note = keys.text(run, "note");
    return out;
}

std::vector<PublishedRun> readPublishedRuns(KeyReader &keys, const JsonNode &runs) {
    std::vector<PublishedRun> out;
    if (runs.kind != JsonNode::Kind::List)
        keys.complain(runs.line, "runs", "must be a list, not " + quotedNode(runs), "write [{…}]");
    else if (runs.items.size() > mostPublishedRuns)
        keys.complain(runs.line, "runs", "can't be more than " + thousands(mostPublishedRuns) + " published runs",
                      "remove some");
    else
        for (const JsonNode &run : runs.items)
            if (keys.isObject(run, "runs"))
                out.push_back(readPublishedRun(keys, run));
    return out;
}

} // namespace

std::optional<Published> readPublished(KeyReader &keys, const JsonNode &published) {
    if (!keys.isObject(published, "published"))
        return std::nullopt;
    keys.refuseUnknown(published, {"machine", "dataset", "setting", "reference", "runs", "contradictions"});
    Published out;
    out.machine = keys.text(published, "machine", true);
    out.dataset = keys.text(published, "dataset");
    out.setting = keys.text(published, "setting");
    out.reference = presentTitle(keys.text(published, "reference"));
    out.contradictions = keys.remarks(published, "contradictions");
    if (const JsonNode *runs = published.member("runs"))
        out.runs = readPublishedRuns(keys, *runs);
    std::vector<std::string> names;
    for (const PublishedRun &run : out.runs)
        names.push_back(run.name);
    if (!out.reference.empty() && std::find(names.begin(), names.end(), out.reference) == names.end()) {
        const std::string near = nearestWord(out.reference, names);
        keys.complain(published.member("reference")->line, "reference",
                      "no published run is named \"" + out.reference + "\"",
                      near.empty() ? "name one of them" : "did you mean \"" + near + "\"?");
    }
    return out;
}

} // namespace lockstep::core
