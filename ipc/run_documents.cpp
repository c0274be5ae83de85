// SPDX-License-Identifier: MIT
// The JSON of a run's documents: launch request, config.json, summary.json, result.json. Readers ignore unknown keys,
// so that an older version can read a newer run; wrong types are errors.
#include <algorithm>

#include "ipc/document_keys_detail.h"
#include "ipc/energy_document_detail.h"
#include "ipc/file_system.h"
#include "ipc/machine_document_detail.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "ipc/run_title.h"
#include "ipc/surroundings_document_detail.h"

namespace lockstep {

namespace documents {

template <class Keys, Is<DeviceRecord> D> void describe(Keys &keys, D &device, const std::string &) {
    keys("device", device.device);
    keys("kind", device.kind);
    keys("name", device.name);
    keys("cores", device.cores);
    keys("uuid", device.uuid);
    keys("memory_total_bytes", device.memoryTotalBytes);
}

using Interface = std::pair<std::string, std::string>;
template <class Keys, Is<Interface> I> void describe(Keys &keys, I &interface, const std::string &) {
    keys("name", interface.first);
    keys("address", interface.second);
}

template <class Keys, Is<MachineRecord> M> void describe(Keys &keys, M &machine, const std::string &what) {
    keys("node", machine.node);
    keys("host", machine.host);
    keys("os", machine.os);
    keys("kernel", machine.kernel);
    keys("cpu_model", machine.cpuModel);
    keys("sockets", machine.sockets);
    keys("cores", machine.cores);
    keys("threads", machine.threads);
    keys("allowed_cores", machine.allowedCores);
    keys("memory_total_bytes", machine.memoryTotalBytes);
    keys.list("devices", machine.devices, what + "'s device");
    keys("gpu_driver", machine.gpuDriver);
    keys("torch_version", machine.torchVersion);
    keys("agent_version", machine.agentVersion);
    keys.list("interfaces", machine.interfaces, what + "'s interface");
}

template <class Keys, Is<RecordedFiles> F> void describe(Keys &keys, F &files, const std::string &) {
    keys("begin", files.begin);
    keys("bytes", files.bytes);
}

template <class Keys, Is<RunRecord> R> void describe(Keys &keys, R &record, const std::string &what) {
    keys("run", record.run);
    keys("name", record.name);
    keys("experiment", record.experiment);
    keys("recipe", record.recipe);
    keys("repeat", record.repeat);
    keys.sparse("in_turns", record.inTurns);
    keys.config("config", record.config, record.claims);
    keys.config("planned", record.planned, record.claims);
    keys.sparse("command", record.command);
    keys.sparse("folder", record.folder);
    keys.sparse("flags", record.claims.flags);
    keys("known", record.claims.known);
    keys.sparse("about", record.about);
    keys("processes", record.processes);
    keys("device_names", record.deviceNames);
    keys.list("machines", record.machines, what + "'s machine");
    keys("free_cores", record.freeCores);
    keys("torch_reason", record.torchReason);
    keys("lockstep_version", record.lockstepVersion);
    keys("start_wall_us", record.startWallUs);
    keys.object("files", record.files, what + "'s files");
}

template <class Keys, Is<EpochSummary> E> void describe(Keys &keys, E &epoch, const std::string &) {
    keys("epoch", epoch.epoch);
    keys("loss", epoch.loss);
    keys("duration_s", epoch.durationS);
    keys("samples", epoch.samples);
}

template <class Keys, Is<Summary> S> void describe(Keys &keys, S &summary, const std::string &) {
    keys("method", summary.method);
    keys("backend", summary.backend);
    keys("world_size", summary.worldSize);
    keys("devices", summary.devices);
    keys("cores_per_device", summary.coresPerDevice);
    keys("threads", summary.threads);
    keys("workers", summary.workers);
    keys("workers_total", summary.workersTotal);
    keys("loader", summary.loader);
    keys("model", summary.model);
    keys("dataset", summary.dataset);
    keys("seed", summary.seed);
    keys("batch_size", summary.batchSize);
    keys("optimizer", summary.optimizer);
    keys("lr", summary.lr);
    keys("precision", summary.precision);
    keys("augment", summary.augment);
    keys("steps", summary.steps);
    keys.list("epochs", summary.epochs, "a summary's epoch");
    keys("first_epoch", summary.firstEpoch);
    keys.sparse("amid_epoch", summary.amidEpoch);
    keys("total_training_time_s", summary.totalTrainingTimeS);
    keys("run_time_s", summary.runTimeS);
    keys("test_accuracy", summary.testAccuracy);
    keys("per_class_accuracy", summary.perClassAccuracy);
    keys.sparse("class_names", summary.classNames);
    keys.numbers("phases_s", summary.phasesS);
    keys("parameters_sha256", summary.parametersSha256);
    keys("peak_rss_bytes", summary.peakRssBytes);
    keys.sparse("replica_batch", summary.replicaBatch);
    keys.sparse("stage_layers", summary.stageLayers);
    keys.sparse("copies", summary.copies);
    keys.sparse("cuda_graph", summary.cudaGraph);
    keys.sparseNumbers("metrics", summary.metrics);
    keys("oversubscribed", summary.oversubscribed);
}

template <class Keys, Is<RankExit> R> void describe(Keys &keys, R &exit, const std::string &) {
    keys("rank", exit.rank);
    keys("host", exit.host);
    keys("code", exit.code);
    keys("signal", exit.signal);
    keys("signal_name", exit.signalName);
}

void finalState(WritingKeys &keys, RunState state) {
    keys("state", std::string(toString(state)));
}
void finalState(ReadingKeys &keys, RunState &state) {
    std::string name;
    keys("state", name);
    if (const auto known = runStateFrom(name); known && isFinal(*known))
        state = *known;
    else
        keys.reader().mistake("state", "done, failed or stopped");
}

void nodeLogLines(WritingKeys &keys, const std::map<int, std::uint64_t> &ofNodes) {
    Json lines = Json::object();
    for (const auto &[node, count] : ofNodes)
        lines[std::to_string(node)] = count;
    keys.sparse("node_log_lines", lines);
}
void nodeLogLines(ReadingKeys &keys, std::map<int, std::uint64_t> &ofNodes) {
    DocumentReader &reader = keys.reader();
    reader.eachKey("node_log_lines", [&](const std::string &node, const Json &lines) {
        if (node.empty() || node.size() > 6 || node.find_first_not_of("0123456789") != std::string::npos ||
            !lines.is_number_unsigned())
            return reader.mistake("node_log_lines", "an object of whole numbers by node");
        ofNodes[std::stoi(node)] = lines.get<std::uint64_t>();
    });
}

template <class Keys, Is<TurnsTaken> T> void describe(Keys &keys, T &turns, const std::string &) {
    keys("paused_s", turns.pausedS);
    keys("pauses", turns.pauses);
    keys("pauses_waiting", turns.waiting);
    keys.sparse("pauses_counted", turns.counted);
    keys.sparse("lost", turns.lost);
}

template <class Keys, Is<RunResult> R> void describe(Keys &keys, R &result, const std::string &what) {
    keys("run", result.run);
    finalState(keys, result.state);
    keys("exit_code", result.exitCode);
    keys("reason", result.reason);
    keys("start_wall_us", result.startWallUs);
    keys("end_wall_us", result.endWallUs);
    keys("run_time_s", result.runTimeS);
    keys.list("ranks", result.ranks, what + "'s rank");
    keys.object("summary", result.summary, what + "'s summary");
    keys.object("watching", result.watching, what + "'s watching");
    keys.object("surroundings", result.surroundings, what + "'s surroundings");
    keys.object("energy", result.energy, what + "'s energy");
    keys.object("turns", result.turns, what + "'s turns");
    nodeLogLines(keys, result.nodeLogLines);
    keys("log_lines", result.logLines);
    keys.sparse("warnings", result.warnings);
}

/// What only agents of a run on several nodes get.
template <class Keys, class Request> void describeJoining(Keys &keys, Request &request) {
    keys("node", request.node);
    keys("join", request.join);
    keys("token", request.token);
    keys("join_port", request.joinPort);
    keys("join_limit_s", request.joinLimitS);
    keys("lease_s", request.leaseS);
}

template <class Keys, Is<LaunchRequest> R> void describe(Keys &keys, R &request, const std::string &what) {
    keys.required("record", request.record, what + "'s record");
    keys("detach", request.detach);
    keys.sparse("attended", request.attended);
    const auto &config = request.record.config;
    if (std::same_as<Keys, ReadingKeys> || (config && !config->nodes.empty()))
        describeJoining(keys, request);
}

Json fromMachine(const MachineRecord &machine) {
    return WritingKeys::written(machine);
}

Result<MachineRecord> toMachine(const Json &json, const std::string &what) {
    return toObject<MachineRecord>(json, what, UnknownKeys::Ignore);
}

} // namespace documents

using documents::readDocument;
using documents::WritingKeys;

namespace {

bool isWithin(const DocumentLimits &limits, const std::string &text) {
    if (text.size() > limits.bytes)
        return false;
    const bool few = text.size() <= 4 * limits.values; // an indented value takes four bytes at least
    return few || documents::limitBroken(text, limits.values).empty();
}

} // namespace

std::string toJson(const RunRecord &record) {
    std::string text = documents::page(WritingKeys::written(record));
    if (record.deviceNames.empty() || isWithin(recordLimits, text))
        return text;
    RunRecord shorter = record;
    shorter.deviceNames.clear();
    return toJson(shorter);
}

namespace {

/// Of the machine and its devices: they are drawn beside numbers.
void putNamesUpright(MachineRecord &machine) {
    for (std::string *name : {&machine.host, &machine.cpuModel})
        *name = withoutTurns(std::move(*name));
    for (DeviceRecord &device : machine.devices)
        for (std::string *name : {&device.device, &device.kind, &device.name})
            *name = withoutTurns(std::move(*name));
}

} // namespace

Result<RunRecord> runRecordFromJson(std::string_view text) {
    auto record = readDocument<RunRecord>(text, "config.json", recordLimits.values);
    if (record) {
        record->name = presentTitle(std::move(record->name));
        record->claims.flags.erase(std::string()); // no flag is without a name
        for (std::string &name : record->deviceNames)
            name = withoutTurns(std::move(name));
        for (MachineRecord &machine : record->machines)
            putNamesUpright(machine);
    }
    return record;
}

namespace {

std::string idOf(const RunFolder &folder) {
    return folder.path.substr(folder.path.rfind('/') + 1);
}

} // namespace

Result<RunRecord> readRunRecord(const RunFolder &folder) {
    const Result<std::string> text = realFileSystem().readAll(folder.config(), recordLimits.bytes);
    if (!text)
        return fail(text.error());
    Result<RunRecord> record = runRecordFromJson(*text);
    if (record && !record->run.empty() && record->run != idOf(folder))
        return fail(Error::badArgument(folder.path + " is a copy: its config.json says that it is run " + record->run,
                                       "give the folder that name, or remove it"));
    return record;
}

std::optional<std::string> whyNoRunOf(std::string_view experiment, std::string_view run, const RunRecord &record) {
    if (record.experiment == experiment)
        return std::nullopt;
    return "run " + std::string(run) + " is none of this experiment's: its record names " +
           (record.experiment.empty() ? "no experiment" : "experiment " + printableName(record.experiment));
}

Result<void> expectRunOf(std::string_view experiment, const RunFolder &folder) {
    if (experiment.empty())
        return {};
    const std::string run = idOf(folder);
    const Result<RunRecord> record = readRunRecord(folder);
    if (!record)
        return fail(
            Error::failed("which experiment run " + run +
                              " belongs to is not known, since its record can't be read: " + record.error().what,
                          "if it is yours, stop it by its own id: lockstep-agent stop " + run));
    const std::optional<std::string> why = whyNoRunOf(experiment, run, *record);
    return why ? fail(Error::failed(*why)) : Result<void>();
}

std::string toJson(const Summary &summary) {
    return documents::page(WritingKeys::written(summary));
}

Result<Summary> summaryFromJson(std::string_view text) {
    return readDocument<Summary>(text, "the summary", documents::mostValues);
}

std::string toJson(const RunResult &result) {
    std::string text = documents::page(WritingKeys::written(result));
    const bool hasEpochs = result.summary && !result.summary->epochs.empty();
    const bool hasHosts = std::ranges::any_of(result.ranks, [](const RankExit &rank) { return !rank.host.empty(); });
    if ((!hasEpochs && !hasHosts) || isWithin(resultLimits, text))
        return text;
    RunResult shorter = result;
    if (hasEpochs) {
        shorter.summary->epochs.clear();
        shorter.warnings.emplace_back("its epochs are too many for result.json: the log alone has them");
    } else {
        for (RankExit &rank : shorter.ranks)
            rank.host.clear();
        shorter.warnings.emplace_back("its ranks' hosts are too long for result.json: the log alone has them");
    }
    return toJson(shorter);
}

namespace {

std::string shortLine(const std::string &name) {
    return onOneLine(cutText(name, longestReportedName));
}

void cutNames(Surroundings &around) {
    around.loadedNode = shortLine(around.loadedNode);
    around.heldNode = shortLine(around.heldNode);
    around.throttle.resize(std::min(around.throttle.size(), mostThrottleReasons));
    for (std::string &reason : around.throttle)
        reason = shortLine(reason);
}

} // namespace

Result<RunResult> runResultFromJson(std::string_view text) {
    auto result = readDocument<RunResult>(text, "result.json", resultLimits.values);
    if (result) {
        result->reason = cutText(std::move(result->reason));
        for (std::string &warning : result->warnings)
            warning = cutText(std::move(warning));
        if (result->surroundings)
            cutNames(*result->surroundings);
    }
    return result;
}

bool isSpanOfFrames(const RunResult &result) {
    return !result.ranks.empty() &&
           std::ranges::none_of(result.ranks, [](const RankExit &exit) { return exit.code || exit.signal; });
}

bool mayBeOf(std::string_view run, const RunResult &result) {
    return result.run.empty() || result.run == run;
}

Result<RunResult> readRunResult(const RunFolder &folder) {
    const Result<std::string> text = realFileSystem().readAll(folder.result(), resultLimits.bytes);
    if (!text)
        return fail(text.error());
    Result<RunResult> result = runResultFromJson(*text);
    if (result && !mayBeOf(idOf(folder), *result))
        return fail(
            Error::failed(folder.result() + " is that of run " + result->run, "remove it, or put this run's there"));
    return result;
}

std::string toJson(const LaunchRequest &request) {
    return documents::line(WritingKeys::written(request));
}

Result<LaunchRequest> launchRequestFromJson(std::string_view text) {
    // An agent must not silently ignore an option that it does not know.
    return readDocument<LaunchRequest>(text, "the launch request", recordLimits.values, documents::UnknownKeys::Refuse);
}

} // namespace lockstep
