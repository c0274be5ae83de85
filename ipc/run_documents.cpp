// The JSON of a run's documents: what an agent is asked to do (LaunchRequest), config.json, summary.json, result.json.
// Readers ignore keys they don't know, so that an older version reads a newer run; wrong types are refused.
#include "ipc/document_reader_detail.h"
#include "ipc/machine_document_detail.h"
#include "ipc/run_folder.h"

namespace lockstep {

namespace {

using documents::Json;
using documents::UnknownKeys;
using Reader = documents::DocumentReader;
using Writer = documents::DocumentWriter;

template <class T, class Fill> Result<T> readDocument(std::string_view text, const char *what, Fill fill) {
    auto object = documents::parseObject(text, what);
    if (!object)
        return fail(std::move(object.error()));
    Reader reader(*object, what);
    T value;
    fill(reader, value);
    return reader.finish(std::move(value));
}

// --- machines -------------------------------------------------------------------------------------------------

Json toValue(const DeviceRecord &device) {
    return Writer()
        .put("device", device.device)
        .put("kind", device.kind)
        .put("name", device.name)
        .put("cores", device.cores)
        .put("uuid", device.uuid)
        .put("memory_total_bytes", device.memoryTotalBytes)
        .take();
}

DeviceRecord readDevice(Reader &reader) {
    DeviceRecord device;
    reader.get("device", device.device);
    reader.get("kind", device.kind);
    reader.get("name", device.name);
    reader.get("cores", device.cores);
    reader.get("uuid", device.uuid);
    reader.get("memory_total_bytes", device.memoryTotalBytes);
    return device;
}

Json toValue(const MachineRecord &machine) {
    Json interfaces = Json::array();
    for (const auto &[name, address] : machine.interfaces)
        interfaces.push_back({{"name", name}, {"address", address}});
    return Writer()
        .put("node", machine.node)
        .put("host", machine.host)
        .put("os", machine.os)
        .put("kernel", machine.kernel)
        .put("cpu_model", machine.cpuModel)
        .put("sockets", machine.sockets)
        .put("cores", machine.cores)
        .put("threads", machine.threads)
        .put("allowed_cores", machine.allowedCores)
        .put("memory_total_bytes", machine.memoryTotalBytes)
        .list("devices", machine.devices, [](const DeviceRecord &device) { return toValue(device); })
        .put("gpu_driver", machine.gpuDriver)
        .put("torch_version", machine.torchVersion)
        .put("agent_version", machine.agentVersion)
        .put("interfaces", interfaces)
        .put("dataset_sha256", machine.datasetSha256)
        .take();
}

MachineRecord readMachine(Reader &reader, const char *what) {
    MachineRecord machine;
    reader.get("node", machine.node);
    reader.get("host", machine.host);
    reader.get("os", machine.os);
    reader.get("kernel", machine.kernel);
    reader.get("cpu_model", machine.cpuModel);
    reader.get("sockets", machine.sockets);
    reader.get("cores", machine.cores);
    reader.get("threads", machine.threads);
    reader.get("allowed_cores", machine.allowedCores);
    reader.get("memory_total_bytes", machine.memoryTotalBytes);
    reader.each("devices", [&](const Json &item) {
        Reader inner(item, std::string(what) + "'s device");
        machine.devices.push_back(readDevice(inner));
        if (inner.error())
            reader.adopt(*inner.error());
    });
    reader.get("gpu_driver", machine.gpuDriver);
    reader.get("torch_version", machine.torchVersion);
    reader.get("agent_version", machine.agentVersion);
    reader.each("interfaces", [&](const Json &item) {
        Reader inner(item, std::string(what) + "'s interface");
        auto &[name, address] = machine.interfaces.emplace_back();
        inner.get("name", name);
        inner.get("address", address);
        if (inner.error())
            reader.adopt(*inner.error());
    });
    reader.eachKey("dataset_sha256", [&](const std::string &file, const Json &digest) {
        if (!digest.is_string())
            return reader.mistake("dataset_sha256", "an object of texts");
        machine.datasetSha256[file] = digest.get<std::string>();
    });
    return machine;
}

// --- run record -----------------------------------------------------------------------------------------------

Json toValue(const RunRecord &record) {
    Writer writer;
    writer.put("run", record.run)
        .put("name", record.name)
        .put("experiment", record.experiment)
        .put("recipe", record.recipe)
        .put("repeat", record.repeat);
    if (record.config)
        writer.put("config", documents::fromConfig(*record.config));
    if (record.planned)
        writer.put("planned", documents::fromConfig(*record.planned));
    if (!record.command.empty())
        writer.put("command", record.command);
    return writer.put("processes", record.processes)
        .put("device_names", record.deviceNames)
        .list("machines", record.machines, [](const MachineRecord &machine) { return toValue(machine); })
        .put("free_cores", record.freeCores)
        .put("torch_reason", record.torchReason)
        .put("lockstep_version", record.lockstepVersion)
        .put("start_wall_us", record.startWallUs)
        .take();
}

void readRecord(Reader &reader, RunRecord &record, UnknownKeys unknown, const char *what) {
    reader.get("run", record.run);
    reader.get("name", record.name);
    reader.get("experiment", record.experiment);
    reader.get("recipe", record.recipe);
    reader.get("repeat", record.repeat);
    for (const auto &[key, member] :
         {std::pair("config", &RunRecord::config), std::pair("planned", &RunRecord::planned)})
        if (const Json *config = reader.object(key)) {
            auto read = documents::toConfig(*config, unknown);
            if (read)
                record.*member = std::move(*read);
            else
                reader.adopt(read.error().front());
        }
    reader.get("command", record.command);
    reader.get("processes", record.processes);
    reader.get("device_names", record.deviceNames);
    reader.each("machines", [&](const Json &item) {
        Reader inner(item, std::string(what) + "'s machine");
        record.machines.push_back(readMachine(inner, what));
        if (inner.error())
            reader.adopt(*inner.error());
    });
    reader.get("free_cores", record.freeCores);
    reader.get("torch_reason", record.torchReason);
    reader.get("lockstep_version", record.lockstepVersion);
    reader.get("start_wall_us", record.startWallUs);
}

// --- summary and result -----------------------------------------------------------------------------------------

Json toValue(const Summary &summary) {
    Json epochs = Json::array(), phases = Json::object();
    for (const EpochSummary &epoch : summary.epochs)
        epochs.push_back(Writer()
                             .put("epoch", epoch.epoch)
                             .put("loss", epoch.loss)
                             .put("duration_s", epoch.durationS)
                             .put("samples", epoch.samples)
                             .take());
    for (const auto &[name, seconds] : summary.phasesS)
        phases[name] = documents::real(seconds);
    Writer writer;
    writer.put("method", summary.method)
        .put("backend", summary.backend)
        .put("world_size", summary.worldSize)
        .put("devices", summary.devices)
        .put("cores_per_device", summary.coresPerDevice)
        .put("threads", summary.threads)
        .put("workers", summary.workers)
        .put("workers_total", summary.workersTotal)
        .put("loader", summary.loader)
        .put("model", summary.model)
        .put("dataset", summary.dataset)
        .put("seed", summary.seed)
        .put("batch_size", summary.batchSize)
        .put("optimizer", summary.optimizer)
        .put("lr", summary.lr)
        .put("precision", summary.precision)
        .put("augment", summary.augment)
        .put("steps", summary.steps)
        .put("epochs", epochs)
        .put("total_training_time_s", summary.totalTrainingTimeS)
        .put("run_time_s", summary.runTimeS)
        .put("test_accuracy", summary.testAccuracy)
        .put("per_class_accuracy", summary.perClassAccuracy)
        .put("phases_s", phases)
        .put("parameters_sha256", summary.parametersSha256)
        .put("peak_rss_bytes", summary.peakRssBytes);
    if (!summary.replicaBatch.empty())
        writer.put("replica_batch", summary.replicaBatch);
    if (!summary.copies.empty())
        writer.put("copies", summary.copies);
    if (summary.cudaGraph)
        writer.put("cuda_graph", summary.cudaGraph);
    return writer.put("oversubscribed", summary.oversubscribed).take();
}

void readSummary(Reader &reader, Summary &summary) {
    reader.get("method", summary.method);
    reader.get("backend", summary.backend);
    reader.get("world_size", summary.worldSize);
    reader.get("devices", summary.devices);
    reader.get("cores_per_device", summary.coresPerDevice);
    reader.get("threads", summary.threads);
    reader.get("workers", summary.workers);
    reader.get("workers_total", summary.workersTotal);
    reader.get("loader", summary.loader);
    reader.get("model", summary.model);
    reader.get("dataset", summary.dataset);
    reader.get("seed", summary.seed);
    reader.get("batch_size", summary.batchSize);
    reader.get("optimizer", summary.optimizer);
    reader.get("lr", summary.lr);
    reader.get("precision", summary.precision);
    reader.get("augment", summary.augment);
    reader.get("steps", summary.steps);
    reader.each("epochs", [&](const Json &item) {
        Reader inner(item, "a summary's epoch");
        EpochSummary &epoch = summary.epochs.emplace_back();
        inner.get("epoch", epoch.epoch);
        inner.get("loss", epoch.loss);
        inner.get("duration_s", epoch.durationS);
        inner.get("samples", epoch.samples);
        if (inner.error())
            reader.adopt(*inner.error());
    });
    reader.get("total_training_time_s", summary.totalTrainingTimeS);
    reader.get("run_time_s", summary.runTimeS);
    reader.get("test_accuracy", summary.testAccuracy);
    reader.get("per_class_accuracy", summary.perClassAccuracy);
    reader.eachKey("phases_s", [&](const std::string &name, const Json &seconds) {
        const auto number = Reader::realOf(seconds);
        if (!number)
            return reader.mistake("phases_s", "an object of numbers");
        summary.phasesS[name] = *number;
    });
    reader.get("parameters_sha256", summary.parametersSha256);
    reader.get("peak_rss_bytes", summary.peakRssBytes);
    reader.get("replica_batch", summary.replicaBatch);
    reader.get("copies", summary.copies);
    reader.get("cuda_graph", summary.cudaGraph);
    reader.get("oversubscribed", summary.oversubscribed);
}

Json toValue(const Watching &watching) {
    return Writer()
        .put("watched_s", watching.watchedS)
        .put("viewers_cpu_s", watching.viewersCpuS)
        .put("queue_cpu_s", watching.queueCpuS)
        .put("agent_cpu_s", watching.agentCpuS)
        .put("ranks_waited_s", watching.ranksWaitedS)
        .take();
}

Watching readWatching(Reader &reader) {
    Watching watching;
    reader.get("watched_s", watching.watchedS);
    reader.get("viewers_cpu_s", watching.viewersCpuS);
    reader.get("queue_cpu_s", watching.queueCpuS);
    reader.get("agent_cpu_s", watching.agentCpuS);
    reader.get("ranks_waited_s", watching.ranksWaitedS);
    return watching;
}

Json toValue(const Surroundings &around) {
    return Writer()
        .put("measured_s", around.measuredS)
        .put("other_cpu_s", around.otherCpuS)
        .put("stolen_s", around.stolenS)
        .put("throttled_s", around.throttledS)
        .put("throttle", around.throttle)
        .take();
}

Surroundings readSurroundings(Reader &reader) {
    Surroundings around;
    reader.get("measured_s", around.measuredS);
    reader.get("other_cpu_s", around.otherCpuS);
    reader.get("stolen_s", around.stolenS);
    reader.get("throttled_s", around.throttledS);
    reader.get("throttle", around.throttle);
    return around;
}

void readResult(Reader &reader, RunResult &result) {
    std::string state;
    reader.get("run", result.run);
    reader.get("state", state);
    if (const auto known = runStateFrom(state); known && isFinal(*known))
        result.state = *known;
    else
        reader.mistake("state", "done, failed or stopped");
    reader.get("exit_code", result.exitCode);
    reader.get("reason", result.reason);
    reader.get("start_wall_us", result.startWallUs);
    reader.get("end_wall_us", result.endWallUs);
    reader.get("run_time_s", result.runTimeS);
    reader.each("ranks", [&](const Json &item) {
        Reader inner(item, "result.json's rank");
        RankExit &exit = result.ranks.emplace_back();
        inner.get("rank", exit.rank);
        inner.get("host", exit.host);
        inner.get("code", exit.code);
        inner.get("signal", exit.signal);
        inner.get("signal_name", exit.signalName);
        if (inner.error())
            reader.adopt(*inner.error());
    });
    if (const Json *summary = reader.object("summary")) {
        Reader inner(*summary, "result.json's summary");
        readSummary(inner, result.summary.emplace());
        if (inner.error())
            reader.adopt(*inner.error());
    }
    if (const Json *watching = reader.object("watching")) {
        Reader inner(*watching, "result.json's watching");
        result.watching = readWatching(inner);
        if (inner.error())
            reader.adopt(*inner.error());
    }
    if (const Json *around = reader.object("surroundings")) {
        Reader inner(*around, "result.json's surroundings");
        result.surroundings = readSurroundings(inner);
        if (inner.error())
            reader.adopt(*inner.error());
    }
    reader.get("log_lines", result.logLines);
    reader.eachKey("node_log_lines", [&](const std::string &node, const Json &lines) {
        if (node.empty() || node.size() > 6 || node.find_first_not_of("0123456789") != std::string::npos ||
            !lines.is_number_unsigned())
            return reader.mistake("node_log_lines", "an object of whole numbers by node");
        result.nodeLogLines[std::stoi(node)] = lines.get<std::uint64_t>();
    });
}

} // namespace

Json documents::fromMachine(const MachineRecord &machine) {
    return toValue(machine);
}

Result<MachineRecord> documents::toMachine(const Json &json, const std::string &what) {
    Reader reader(json, what);
    MachineRecord machine = readMachine(reader, what.c_str());
    return reader.finish(std::move(machine));
}

std::string toJson(const RunRecord &record) {
    return documents::page(toValue(record));
}

Result<RunRecord> runRecordFromJson(std::string_view text) {
    return readDocument<RunRecord>(text, "config.json", [](Reader &reader, RunRecord &record) {
        readRecord(reader, record, UnknownKeys::Ignore, "config.json");
    });
}

std::string toJson(const Summary &summary) {
    return documents::page(toValue(summary));
}

Result<Summary> summaryFromJson(std::string_view text) {
    return readDocument<Summary>(text, "the summary", readSummary);
}

std::string toJson(const RunResult &result) {
    Writer writer;
    writer.put("run", result.run)
        .put("state", std::string(toString(result.state)))
        .put("exit_code", result.exitCode)
        .put("reason", result.reason)
        .put("start_wall_us", result.startWallUs)
        .put("end_wall_us", result.endWallUs)
        .put("run_time_s", result.runTimeS)
        .list("ranks", result.ranks, [](const RankExit &exit) {
            return Writer()
                .put("rank", exit.rank)
                .put("host", exit.host)
                .put("code", exit.code)
                .put("signal", exit.signal)
                .put("signal_name", exit.signalName)
                .take();
        });
    if (result.summary)
        writer.put("summary", toValue(*result.summary));
    if (result.watching)
        writer.put("watching", toValue(*result.watching));
    if (result.surroundings)
        writer.put("surroundings", toValue(*result.surroundings));
    if (!result.nodeLogLines.empty()) {
        Json lines = Json::object();
        for (const auto &[node, count] : result.nodeLogLines)
            lines[std::to_string(node)] = count;
        writer.put("node_log_lines", lines);
    }
    return documents::page(writer.put("log_lines", result.logLines).take());
}

Result<RunResult> runResultFromJson(std::string_view text) {
    return readDocument<RunResult>(text, "result.json", readResult);
}

std::string toJson(const LaunchRequest &request) {
    Writer writer;
    writer.put("record", toValue(request.record)).put("detach", request.detach);
    if (request.attended)
        writer.put("attended", true);
    if (request.record.config && !request.record.config->nodes.empty())
        writer.put("node", request.node)
            .put("join", request.join)
            .put("token", request.token)
            .put("join_port", request.joinPort)
            .put("join_limit_s", request.joinLimitS)
            .put("lease_s", request.leaseS);
    return documents::line(writer.take());
}

Result<LaunchRequest> launchRequestFromJson(std::string_view text) {
    return readDocument<LaunchRequest>(text, "the launch request", [](Reader &reader, LaunchRequest &request) {
        reader.get("detach", request.detach);
        reader.get("attended", request.attended);
        reader.get("node", request.node);
        reader.get("join", request.join);
        reader.get("token", request.token);
        reader.get("join_port", request.joinPort);
        reader.get("join_limit_s", request.joinLimitS);
        reader.get("lease_s", request.leaseS);
        const Json *record = reader.object("record");
        if (!record)
            return reader.mistake("record", "present");
        Reader inner(*record, "the launch request's record");
        // An agent that doesn't know an option must not quietly run without it.
        readRecord(inner, request.record, UnknownKeys::Refuse, "the launch request");
        if (inner.error())
            reader.adopt(*inner.error());
    });
}

} // namespace lockstep
