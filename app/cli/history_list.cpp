// SPDX-License-Identifier: MIT
// list: the history as a table, filtered, sorted, grouped by repeats.
#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>
#include <QStringList>

#include "analysis/history/run_rows.h"
#include "base/format.h"
#include "commands.h"
#include "ipc/json_or_null.h"
#include "output.h"
#include "queue/queue_origin.h"
#include "queue/queue_run.h"
#include "store/run_index.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;
using core::ColumnValue;
using core::RunColumn;

std::string experimentState(const core::Experiment &experiment) {
    if (const auto origin = core::queueOriginOf(experiment.id); origin && !experiment.over())
        return "on " + origin->prefix.host + ", as last seen";
    if (!experiment.over())
        return core::isOwned(experiment.id) ? "running" : "waits to be resumed";
    for (const core::ExperimentEntry &entry : experiment.entries)
        if (entry.state == core::EntryState::Failed || entry.state == core::EntryState::Stopped)
            return std::string(core::toString(entry.state));
    return "done";
}

Json metricsJson(const core::IndexedRun &run) {
    Json out = Json::object();
    for (const std::string &name : run.metricNames())
        out[name] = orNull(run.metric(name));
    return out;
}

Json runJson(const core::IndexedRun &run) {
    Json tags = Json::array();
    for (const QString &tag : QString::fromStdString(run.tags).split(QStringLiteral(", "), Qt::SkipEmptyParts))
        tags.push_back(tag.toStdString());
    return {{"run", run.run},
            {"name", run.name},
            {"given_name", run.givenName},
            {"tags", std::move(tags)},
            {"note", run.note},
            {"starred", run.starred},
            {"experiment", run.experiment},
            {"recipe", run.recipe},
            {"repeat", run.repeat},
            {"state", run.state},
            {"reason", run.reason},
            {"method", run.method},
            {"devices", run.devices},
            {"device_kind", run.device},
            {"backend", run.backend},
            {"host", run.host},
            {"start_wall_us", run.startWallUs},
            {"total_training_time_s", orNull(run.totalTrainingTimeS)},
            {"run_time_s", orNull(run.runTimeS)},
            {"test_accuracy", orNull(run.testAccuracy)},
            {"final_loss", orNull(run.finalLoss)},
            {"samples_per_s", orNull(run.samplesPerS)},
            {"peak_rss_bytes", orNull(run.peakRssBytes)},
            {"metrics", metricsJson(run)}};
}

Json valueJson(const ColumnValue &value) {
    if (const auto *text = std::get_if<std::string>(&value))
        return *text;
    const auto *number = std::get_if<double>(&value);
    return number ? Json(*number) : Json(nullptr);
}

/// What --columns asks for, in the columns' units: seconds, bytes, shares of 1, microseconds.
template <class Value> void addColumns(const std::vector<RunColumn> &columns, Value value, Json &out) {
    Json &chosen = out["columns"] = Json::object();
    for (const RunColumn &column : columns)
        chosen[column.key] = valueJson(value(column));
}

Json groupJson(const std::vector<core::IndexedRun> &runs, const std::vector<RunColumn> &invented,
               const core::RunGroup &group) {
    const core::IndexedRun &first = runs[std::size_t(group.runs.front())];
    Json ids = Json::array(), figures = Json::object();
    for (const int place : group.runs)
        ids.push_back(runs[std::size_t(place)].run);
    for (const auto columns : {core::runColumns(), std::span<const RunColumn>(invented)})
        for (const RunColumn &column : columns) {
            if (!column.measured)
                continue;
            const core::GroupFigures found = core::figuresOf(column, runs, group.runs);
            figures[column.key] = {
                {"n", found.count}, {"mean", orNull(found.mean)}, {"standard_deviation", orNull(found.deviation)}};
        }
    return {{"name", first.name}, {"method", first.method}, {"devices", first.devices},
            {"host", first.host}, {"runs", std::move(ids)}, {"figures", std::move(figures)}};
}

struct Listing {
    std::vector<core::IndexedRun> runs;
    core::RunRows rows;
    std::vector<RunColumn> columns;
    std::vector<std::string> refused; ///< runs whose records can't be read
    bool chosen = false;              ///< an option was given: show only runs, in that form
};

std::vector<RunColumn> usualColumns(bool group) {
    std::vector<RunColumn> out;
    for (const char *key : {"run", "started", "name", "state", "training", "run_time", "accuracy", "experiment"})
        if (!group || std::string(key) != "run")
            out.push_back(core::runColumns()[std::size_t(core::runColumn(key))]);
    return out;
}

Result<core::RunIndex> freshIndex() {
    auto index = core::RunIndex::open();
    if (!index)
        return fail(index.error());
    if (const auto refreshed = index->refresh(); !refreshed)
        return fail(refreshed.error());
    return index;
}

/// What --columns, --sort and --filter know.
int showColumns() {
    const auto index = freshIndex();
    if (!index)
        return complain(index.error());
    std::vector<std::vector<std::string>> rows = {{"column", "head", "what it is"}};
    const std::vector<RunColumn> invented = core::inventedColumns(index->runs());
    for (const auto columns : {core::runColumns(), std::span<const RunColumn>(invented)})
        for (const RunColumn &column : columns)
            rows.push_back({column.key, column.head, column.help});
    print(aligned(rows));
    return Done;
}

Result<Listing> makeListing(const ListOptions &options) {
    Listing out;
    out.chosen = options.group || !options.filter.empty() || !options.sort.empty() || !options.columns.empty();
    const auto index = freshIndex();
    if (!index)
        return fail(index.error());
    out.runs = index->runs();
    out.refused = index->refusedRuns();
    const std::vector<RunColumn> invented = core::inventedColumns(out.runs);
    const auto filter = core::RunFilter::parse(QString::fromStdString(options.filter), invented);
    if (!filter)
        return fail(Error::badArgument("the filter is wrong " + filter.error().message()));
    const bool descending = options.sort.empty() || options.sort.front() == '-';
    const std::string key = options.sort.empty() ? "started" : options.sort.substr(descending ? 1 : 0);
    const RunColumn *column = core::findRunColumn(key, invented);
    if (!column)
        return fail(core::unknownColumn(key, invented));
    out.columns = usualColumns(options.group);
    if (!options.columns.empty()) {
        auto columns = core::runColumnsFrom(options.columns, invented);
        if (!columns)
            return fail(columns.error());
        out.columns = std::move(*columns);
    }
    const core::RunOrder order{*column, descending};
    const std::vector<int> sorted = core::sortedRuns(out.runs, order);
    out.rows = options.group ? core::groupedRows(out.runs, sorted, *filter, order, {})
                             : core::flatRows(out.runs, sorted, *filter);
    return out;
}

std::string cell(const RunColumn &column, const ColumnValue &value) {
    const QString text = core::shownValue(column, value);
    return text.isEmpty() ? "-" : text.section(QLatin1Char('\n'), 0, 0).toStdString();
}

std::string tableOf(const Listing &listing) {
    std::vector<std::vector<std::string>> rows(1);
    const bool grouped = !listing.rows.groups.empty();
    for (const RunColumn &column : listing.columns)
        rows.front().push_back(column.head);
    if (grouped)
        rows.front().emplace_back("Runs");
    for (const core::RunRow &row : listing.rows.rows) {
        std::vector<std::string> &line = rows.emplace_back();
        const std::vector<int> *group = row.run < 0 ? &listing.rows.groups[std::size_t(row.group)].runs : nullptr;
        for (const RunColumn &column : listing.columns)
            line.push_back(group ? core::groupText(column, listing.runs, *group).toStdString()
                                 : cell(column, column.value(listing.runs[std::size_t(row.run)])));
        if (group)
            line.push_back(std::to_string(group->size()));
    }
    return aligned(rows);
}

/// What the list says of an experiment; the whole of one may be large.
struct ListedExperiment {
    std::string id, title, state;
    int runs = 0, over = 0;
};

std::vector<ListedExperiment> experiments(const std::vector<core::IndexedRun> &runs) {
    std::map<std::string, const core::IndexedRun *> byId;
    for (const core::IndexedRun &run : runs)
        byId.emplace(run.run, &run);
    std::vector<ListedExperiment> out;
    core::ExperimentReader reader;
    for (const std::string &id : core::listExperiments())
        if (auto experiment = reader.read(id)) {
            if (!core::queueOriginOf(id))
                core::takeEndsWithoutOwner(*experiment, byId);
            out.push_back({experiment->id, experiment->title, experimentState(*experiment), experiment->runnableCount(),
                           experiment->overCount()});
        }
    return out;
}

/// What the list lacks, and why; empty if it lacks nothing.
std::string refusedInWords(const std::vector<std::string> &refused) {
    constexpr std::size_t mostNamed = 3;
    if (refused.empty())
        return {};
    std::string named = refused.front();
    for (std::size_t i = 1; i < std::min(refused.size(), mostNamed); ++i)
        named += ", " + refused[i];
    if (refused.size() > mostNamed)
        named += " and " + std::to_string(refused.size() - mostNamed) + " more";
    return "Not listed, since the record can't be read: " + named + ". lockstepctl show " + refused.front() +
           " says why.\n";
}

void printJson(const ListOptions &options, const Listing &listing, const std::vector<ListedExperiment> &all) {
    Json json = Json::object();
    if (!listing.chosen) {
        json["experiments"] = Json::array();
        for (const ListedExperiment &experiment : all)
            json["experiments"].push_back({{"experiment", experiment.id},
                                           {"title", experiment.title},
                                           {"state", experiment.state},
                                           {"runs", experiment.runs},
                                           {"over", experiment.over}});
    }
    if (options.group) {
        json["groups"] = Json::array();
        const std::vector<RunColumn> invented = core::inventedColumns(listing.runs);
        for (const core::RunGroup &group : listing.rows.groups) {
            Json &one = json["groups"].emplace_back(groupJson(listing.runs, invented, group));
            if (!options.columns.empty())
                addColumns(
                    listing.columns,
                    [&](const RunColumn &column) { return core::groupValue(column, listing.runs, group.runs); }, one);
        }
    } else {
        json["runs"] = Json::array();
        for (const core::RunRow &row : listing.rows.rows) {
            const core::IndexedRun &run = listing.runs[std::size_t(row.run)];
            Json &one = json["runs"].emplace_back(runJson(run));
            if (!options.columns.empty())
                addColumns(
                    listing.columns, [&](const RunColumn &column) { return column.value(run); }, one);
        }
    }
    json["unreadable"] = listing.refused;
    print(dump(json));
}

} // namespace

int listCommand(const ListOptions &options) {
    if (options.columns == "help")
        return showColumns();
    const Result<Listing> listing = makeListing(options);
    if (!listing)
        return complain(listing.error());
    const std::vector<ListedExperiment> all =
        listing->chosen ? std::vector<ListedExperiment>() : experiments(listing->runs);
    if (options.json) {
        printJson(options, *listing, all);
        return Done;
    }
    std::string refused = refusedInWords(listing->refused);
    if (listing->chosen) { // stdout has the rows alone
        std::fputs(refused.c_str(), stderr);
        refused.clear();
    }
    if (all.empty() && listing->runs.empty() && !listing->refused.empty()) {
        print(refused);
        return Done;
    }
    if (all.empty() && listing->runs.empty()) {
        print("No runs yet. Start one: lockstepctl run lenet-dp-vs-ddp --quick\n");
        return Done;
    }
    if (listing->rows.rows.empty() && !listing->runs.empty()) {
        print("No run matches: " + std::to_string(listing->runs.size()) + " without the filter.\n");
        return Done;
    }
    std::string text;
    if (!all.empty()) {
        std::vector<std::vector<std::string>> rows = {{"experiment", "title", "runs", "state"}};
        for (const ListedExperiment &experiment : all)
            rows.push_back({experiment.id, experiment.title,
                            std::to_string(experiment.over) + "/" + std::to_string(experiment.runs), experiment.state});
        text = aligned(rows) + "\n";
    }
    print(text + tableOf(*listing) + (refused.empty() ? "" : "\n" + refused));
    return Done;
}

} // namespace lockstep::cli
