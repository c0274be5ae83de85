// SPDX-License-Identifier: MIT
#include "experiment/experiment.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>
#include <QDir>
#include <QFile>

#include "experiment/claims_json_detail.h"
#include "experiment/place_limit.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr int experimentFormat = 1;
constexpr std::array<std::string_view, 7> stateNames = {"queued", "launching", "running", "done",
                                                        "failed", "stopped",   "not run"};

Json entryToJson(const ExperimentEntry &entry) {
    Json json = {{"name", entry.planned.name},
                 {"repeat", entry.planned.repeat},
                 {"repeats", entry.planned.repeats},
                 {"state", std::string(toString(entry.state))},
                 {"run", entry.run},
                 {"reason", entry.reason},
                 {"note", entry.planned.note},
                 {"not_run_reason", entry.planned.notRunReason}};
    if (!entry.earlierRuns.empty())
        json["earlier_runs"] = entry.earlierRuns;
    if (entry.interruptions > 0)
        json["interruptions"] = entry.interruptions;
    if (entry.alone)
        json["alone"] = true;
    json["estimate_s"] = entry.planned.estimateS ? Json(*entry.planned.estimateS) : Json(nullptr);
    json["config"] = Json::parse(toJson(entry.planned.config, entry.planned.claims));
    if (entry.placed) {
        json["placed"] = {{"devices", entry.placed->devices}};
        if (!entry.placed->workerCores.empty())
            json["placed"]["worker_cores"] = entry.placed->workerCores;
    }
    if (!entry.planned.command.empty())
        json["command"] = entry.planned.command;
    putClaims(entry.planned.claims, json);
    return json;
}

/// A run's id names its folder, and this text may come from another machine.
const std::string &checkedId(const std::string &id) {
    if (!id.empty() && !isRunId(id))
        throw std::runtime_error("\"" + id.substr(0, 80) + "\" is not the id of a run or an experiment");
    return id;
}

ExperimentEntry entryFromJson(const Json &json) {
    ExperimentEntry entry;
    entry.planned.name = presentTitle(json.value("name", ""));
    entry.planned.repeat = json.value("repeat", 1);
    entry.planned.repeats = json.value("repeats", 1);
    entry.planned.note = cutText(json.value("note", ""), largestNotes);
    entry.planned.notRunReason = cutText(json.value("not_run_reason", ""));
    entry.planned.estimateS = documents::optionalIn<double>(json, "estimate_s");
    entry.state = entryStateFrom(json.value("state", "")).value_or(EntryState::Queued);
    entry.run = checkedId(json.value("run", ""));
    if (entry.run.empty() && (entry.state == EntryState::Launching || entry.state == EntryState::Running))
        throw std::runtime_error("a run that was started has no id");
    entry.planned.command = json.value("command", std::vector<std::string>());
    entry.planned.claims = claimsIn(json);
    entry.reason = cutText(json.value("reason", ""));
    for (const std::string &run : json.value("earlier_runs", std::vector<std::string>()))
        entry.earlierRuns.push_back(checkedId(run));
    entry.interruptions = json.value("interruptions", 0);
    entry.alone = json.value("alone", false);
    if (const auto config = runConfigFromJson(json.at("config").dump()))
        entry.planned.config = *config;
    else
        throw std::runtime_error(joinErrors(config.error()));
    if (json.contains("placed") && entry.planned.config.nodes.empty()) { // those on several nodes are never moved
        if (json["placed"].at("devices").size() > entry.planned.config.devices.size())
            throw std::runtime_error("a run was moved to more devices than it has");
        entry.placed = entry.planned.config;
        entry.placed->devices = json["placed"].at("devices").get<std::vector<std::string>>();
        entry.placed->workerCores = json["placed"].value("worker_cores", "");
    }
    return entry;
}

/// Fails where the entries name more places than a document can, before those are held.
std::vector<ExperimentEntry> entriesFromJson(const Json &json) {
    if (json.size() > mostRunsRead)
        throw std::runtime_error("it has more than " + std::to_string(mostRunsRead) + " runs");
    std::vector<ExperimentEntry> entries;
    std::set<std::string> runs;
    std::size_t places = 0;
    for (const Json &one : json) {
        ExperimentEntry entry = entryFromJson(one);
        places += placeCount(entry.planned.config);
        if (const auto room = roomForPlaces(places, "its first " + std::to_string(entries.size() + 1) + " runs"); !room)
            throw std::runtime_error(room.error().what);
        if (!entry.run.empty() && !runs.insert(entry.run).second)
            throw std::runtime_error("several entries have the run " + entry.run);
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::size_t placesIn(const Experiment &experiment) {
    std::size_t places = 0;
    for (const ExperimentEntry &entry : experiment.entries)
        places += placeCount(entry.planned.config);
    return places;
}

Json sideBySideToJson(const SideBySide &places) {
    Json json = {{"runs", places.runs}, {"cores", formatCores(places.cores)}, {"gpus", places.gpus}};
    if (places.inTurns)
        json["in_turns"] = true;
    return json;
}

SideBySide sideBySideFromJson(const Json &json) {
    SideBySide places;
    places.runs = std::clamp(json.value("runs", 1), 1, mostSideBySide);
    places.cores = parseCores(json.value("cores", "")).value_or(CoreList{});
    places.gpus = json.value("gpus", std::vector<std::string>());
    places.inTurns = json.value("in_turns", false);
    return places;
}

Json untilToJson(const WidthProgress &until) {
    Json json = {{"width", until.goal.width}, {"at_most", until.goal.mostRounds}, {"settled", until.settled}};
    if (until.reached)
        json["reached"] = {
            {"rounds", until.reached->rounds},
            {"width", until.reached->width ? Json(*until.reached->width) : Json(nullptr)},
            {"run", until.reached->run},
            {"expected_rounds", until.reached->expected ? Json(*until.reached->expected) : Json(nullptr)},
            {"narrow", until.reached->narrow}};
    return json;
}

WidthProgress untilFromJson(const Json &json) {
    WidthProgress until;
    until.goal.width = json.value("width", until.goal.width);
    until.goal.mostRounds = json.value("at_most", until.goal.mostRounds);
    until.settled = json.value("settled", false);
    if (!json.contains("reached"))
        return until;
    const Json &reached = json["reached"];
    WidthReached &out = until.reached.emplace();
    out.rounds = reached.value("rounds", 0);
    out.width = documents::optionalIn<double>(reached, "width");
    out.run = reached.value("run", "");
    out.expected = documents::optionalIn<int>(reached, "expected_rounds");
    out.narrow = reached.value("narrow", false);
    return until;
}

bool plainId(std::string_view id) {
    return isRunId(id);
}

} // namespace

std::string_view toString(EntryState state) {
    return stateNames[std::size_t(state)];
}

std::optional<EntryState> entryStateFrom(std::string_view text) {
    const auto found = std::find(stateNames.begin(), stateNames.end(), text);
    if (found == stateNames.end())
        return std::nullopt;
    return EntryState(found - stateNames.begin());
}

bool isOver(EntryState state) {
    return state >= EntryState::Done;
}

int Experiment::runnableCount() const {
    return int(std::count_if(entries.begin(), entries.end(), [](const auto &e) { return e.planned.runnable(); }));
}

int Experiment::overCount() const {
    return int(std::count_if(entries.begin(), entries.end(),
                             [](const auto &e) { return e.planned.runnable() && isOver(e.state); }));
}

std::vector<int> Experiment::currents() const {
    std::vector<int> out;
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (entries[i].state == EntryState::Launching || entries[i].state == EntryState::Running)
            out.push_back(int(i));
    return out;
}

std::optional<int> Experiment::current() const {
    const std::vector<int> all = currents();
    return all.empty() ? std::nullopt : std::optional(all.front());
}

std::vector<int> Experiment::queued() const {
    std::vector<int> waiting;
    std::vector<bool> taken(entries.size());
    const auto take = [&](int i) {
        if (i < 0 || i >= int(entries.size()) || taken[std::size_t(i)] ||
            entries[std::size_t(i)].state != EntryState::Queued)
            return;
        taken[std::size_t(i)] = true;
        waiting.push_back(i);
    };
    for (const int i : order)
        take(i);
    for (int i = 0; i < int(entries.size()); ++i)
        take(i);
    return waiting;
}

bool Experiment::awaitsRounds() const {
    return until && !until->settled && std::ranges::none_of(entries, [](const ExperimentEntry &entry) {
               return entry.state == EntryState::Failed || entry.state == EntryState::Stopped;
           });
}

bool Experiment::over() const {
    return !awaitsRounds() && std::ranges::all_of(entries, [](const auto &e) { return isOver(e.state); });
}

std::string toJson(const WidthProgress &until) {
    return untilToJson(until).dump();
}

std::string toJson(const Experiment &experiment) {
    Json json = {{"format", experimentFormat},
                 {"experiment", experiment.id},
                 {"title", experiment.title},
                 {"reference", experiment.reference},
                 {"quick", experiment.quick},
                 {"host", experiment.host},
                 {"remote_agent", experiment.remoteAgent},
                 {"created_wall_us", experiment.createdWallUs}};
    if (!experiment.folder.empty())
        json["folder"] = experiment.folder;
    if (!experiment.order.empty())
        json["order"] = experiment.order;
    json["order_seed"] = experiment.orderSeed;
    if (experiment.paused())
        json["paused_by"] = experiment.pausedBy;
    if (!experiment.taken.empty())
        json["taken_requests"] = experiment.taken;
    if (!experiment.check)
        json["check"] = false;
    if (experiment.until)
        json["until_width"] = untilToJson(*experiment.until);
    if (experiment.sideBySide.runs > 1)
        json["side_by_side"] = sideBySideToJson(experiment.sideBySide);
    json["entries"] = Json::array();
    for (const ExperimentEntry &entry : experiment.entries)
        json["entries"].push_back(entryToJson(entry));
    json["recipe"] = Json::parse(toJson(experiment.recipe));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> roomFor(const Experiment &experiment, std::size_t runs, std::size_t places) {
    if (experiment.entries.size() + runs <= mostRunsRead)
        return roomForPlaces(placesIn(experiment) + places,
                             "with " + std::to_string(runs) + " more, the runs of experiment " + experiment.id);
    return fail(Error::badArgument("with " + std::to_string(runs) + " more runs experiment " + experiment.id +
                                       " would have " + std::to_string(experiment.entries.size() + runs),
                                   "at most " + std::to_string(mostRunsRead) + " are kept: start another experiment"));
}

Result<Experiment> experimentFromJson(std::string_view text) {
    try {
        const Json json = documents::objectIn(text);
        if (json.value("format", 0) > experimentFormat)
            return fail(Error::failed("the experiment was written by a newer Lockstep", "upgrade this one"));
        Experiment experiment;
        experiment.id = checkedId(json.value("experiment", ""));
        experiment.title = cutText(onOneLine(json.value("title", "")));
        experiment.reference = presentTitle(json.value("reference", ""));
        experiment.quick = json.value("quick", false);
        experiment.host = json.value("host", "");
        experiment.remoteAgent = json.value("remote_agent", "");
        experiment.folder = json.value("folder", "");
        if (!experiment.folder.empty() && !experiment.folder.starts_with('/'))
            throw std::runtime_error("its folder \"" + experiment.folder.substr(0, 80) + "\" is not an absolute path");
        experiment.createdWallUs = json.value("created_wall_us", std::int64_t(0));
        if (json.contains("order") && json["order"].size() > mostRunsRead)
            throw std::runtime_error("its order has more than " + std::to_string(mostRunsRead) + " entries");
        experiment.order = json.value("order", std::vector<int>());
        experiment.orderSeed = json.value("order_seed", std::uint64_t(0));
        experiment.pausedBy = cutText(json.value("paused_by", ""));
        experiment.taken = json.value("taken_requests", std::vector<std::string>());
        experiment.check = json.value("check", true);
        if (json.contains("until_width"))
            experiment.until = untilFromJson(json["until_width"]);
        if (json.contains("side_by_side"))
            experiment.sideBySide = sideBySideFromJson(json["side_by_side"]);
        experiment.entries = entriesFromJson(json.at("entries"));
        auto recipe = recipeFromJson(json.at("recipe").dump(), "experiment.json");
        if (!recipe)
            return fail(Error::failed("the experiment's recipe is damaged: " + joinErrors(recipe.error())));
        experiment.recipe = std::move(*recipe);
        return experiment;
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("experiment.json is damaged: ") + exception.what()));
    }
}

ExperimentFolder experimentFolder(std::string_view id) {
    return {experimentsFolder() + "/" + std::string(id)};
}

LaunchRequest requestFor(const Experiment &experiment, const ExperimentEntry &entry) {
    LaunchRequest request;
    RunRecord &record = request.record;
    record.run = entry.run;
    record.name = entry.planned.name;
    record.experiment = experiment.id;
    record.recipe = experiment.recipe.name;
    record.repeat = entry.planned.repeat;
    record.inTurns = experiment.sideBySide.inTurns;
    record.config = entry.config();
    if (entry.placed)
        record.planned = entry.planned.config;
    record.command = entry.planned.command;
    record.claims = entry.planned.claims;
    record.folder = experiment.folder;
    record.processes = processCount(entry.planned.config);
    return request;
}

std::optional<std::string> notItsRun(const Experiment &experiment, const ExperimentEntry &entry) {
    if (entry.run.empty())
        return std::nullopt;
    const Result<RunRecord> record = readRunRecord(runFolder(entry.run));
    return record ? whyNoRunOf(experiment.id, entry.run, *record) : std::nullopt;
}

Experiment makeExperiment(const Plan &plan, const Recipe &recipe, bool quick, const CommandPrefix &where) {
    Experiment experiment;
    experiment.id = makeRunId();
    experiment.title = plan.title;
    experiment.recipe = recipe;
    experiment.reference = plan.reference;
    experiment.quick = quick;
    experiment.host = where.host;
    experiment.remoteAgent = where.local() ? "" : where.agent;
    std::error_code gone; // a folder that was removed has no path
    if (where.local())
        experiment.folder = std::filesystem::current_path(gone).string();
    experiment.createdWallUs = SystemClock().wallUs();
    experiment.order = plan.order;
    experiment.orderSeed = plan.orderSeed;
    experiment.sideBySide = plan.sideBySide;
    if (plan.untilWidth)
        experiment.until = WidthProgress{*plan.untilWidth, std::nullopt, false};
    for (const PlannedRun &run : plan.runs) {
        ExperimentEntry entry;
        entry.planned = run;
        if (!run.runnable()) {
            entry.state = EntryState::NotRun;
            entry.reason = run.notRunReason;
        }
        experiment.entries.push_back(std::move(entry));
    }
    return experiment;
}

namespace {

Error namesAnother(std::string_view id, const std::string &said) {
    return Error::failed(experimentFolder(id).json() + " says that it is experiment \"" + said + "\"",
                         "move it to the folder of that name");
}

/// Under whichever id it is.
Result<Experiment> readDocumentOf(std::string_view id) {
    if (!plainId(id))
        return fail(Error::badArgument("\"" + std::string(id.substr(0, 80)) + "\" is not an experiment's id",
                                       "lockstepctl list shows them"));
    const std::string path = experimentFolder(id).json();
    if (!QFile::exists(QString::fromStdString(path)))
        return fail(Error::badArgument("there is no experiment " + std::string(id), "lockstepctl list shows them"));
    const Result<std::string> text = realFileSystem().readAll(path);
    if (!text)
        return fail(text.error());
    return experimentFromJson(*text);
}

} // namespace

Result<Experiment> readExperiment(std::string_view id) {
    return ExperimentReader().read(std::string(id));
}

Result<Experiment> ExperimentReader::read(const std::string &id) {
    const std::string stamp = experimentStamp(id);
    if (const auto known = m_idIn.find(stamp); known != m_idIn.end()) {
        if (!known->second)
            return fail(known->second.error());
        if (*known->second != id)
            return fail(namesAnother(id, *known->second));
    }
    Result<Experiment> experiment = readDocumentOf(id);
    if (!stamp.empty())
        m_idIn.insert_or_assign(stamp, experiment.map([](const Experiment &one) { return one.id; }));
    if (experiment && experiment->id != id) // what is written and removed goes by the id in it
        return fail(namesAnother(id, experiment->id));
    return experiment;
}

Result<std::string> documentOf(const Experiment &experiment) {
    if (const Result<void> room = roomForPlaces(placesIn(experiment), "the runs of experiment " + experiment.id); !room)
        return fail(room.error());
    std::string text = toJson(experiment);
    if (text.size() > largestDocument)
        return fail(
            Error::badArgument("experiment " + experiment.id + " would take " + std::to_string(text.size()) + " bytes",
                               "at most " + std::to_string(largestDocument) +
                                   " are read: start another experiment, or shorten its notes"));
    if (text.size() > 4 * documents::mostValues) // an indented value takes four bytes at least
        if (const std::string broken = documents::limitBroken(text); !broken.empty())
            return fail(Error::badArgument("experiment " + experiment.id + broken,
                                           "no more are read: start another experiment"));
    return text;
}

Result<void> writeExperiment(const Experiment &experiment) {
    const Result<std::string> text = documentOf(experiment);
    if (!text)
        return fail(text.error());
    const ExperimentFolder folder = experimentFolder(experiment.id);
    if (const Result<void> made = realFileSystem().makeFolders(folder.path); !made)
        return made;
    return realFileSystem().writeAtomically(folder.json(), *text);
}

Result<void> createExperiment(const Experiment &experiment, const std::function<Result<void>()> &first) {
    QDir folder(QString::fromStdString(experimentFolder(experiment.id).path));
    const bool wasThere = folder.exists();
    Result<void> written = realFileSystem().makeFolders(experimentFolder(experiment.id).path);
    if (written && first)
        written = first();
    if (written)
        written = writeExperiment(experiment);
    if (!written && !wasThere)
        folder.removeRecursively();
    return written;
}

std::string experimentStamp(std::string_view id) {
    return fileStamp(experimentFolder(id).json());
}

std::vector<std::string> listExperiments() {
    std::vector<std::string> ids;
    const QDir folder(QString::fromStdString(experimentsFolder()));
    for (const QString &name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name | QDir::Reversed))
        if (isRunId(name.toStdString()) && QFile::exists(folder.filePath(name) + QStringLiteral("/experiment.json")))
            ids.push_back(name.toStdString());
    return ids;
}

bool isOwned(std::string_view id) {
    return FileLock::isHeld(experimentFolder(id).lock());
}

} // namespace lockstep::core
