// SPDX-License-Identifier: MIT
#include "ipc/device_fields.h"
#include "ipc/frames.h"
#include "ipc/json_writer.h"

namespace lockstep {

namespace {

// Unknown values are absent: empty strings, lists and optionals write no key.
template <class T> void put(JsonWriter &json, std::string_view key, const std::optional<T> &value) {
    if (value)
        json.field(key, *value);
}

void put(JsonWriter &json, std::string_view key, const std::string &text) {
    if (!text.empty())
        json.field(key, text);
}

template <class T> void putArray(JsonWriter &json, std::string_view key, const std::vector<T> &values) {
    if (values.empty())
        return;
    json.key(key).beginArray();
    for (const T &value : values)
        json.value(value);
    json.endArray();
}

/// `write` writes the keys of one item.
template <class T, class Write>
void putObjects(JsonWriter &json, std::string_view key, const std::vector<T> &items, const Write &write) {
    if (items.empty())
        return;
    json.key(key).beginArray();
    for (const T &item : items) {
        json.beginObject();
        write(item);
        json.endObject();
    }
    json.endArray();
}

void put(JsonWriter &json, const PhaseTimes &phases) {
    if (phases.empty())
        return;
    json.key("phases").beginObject();
    for (const auto &[name, time] : phases) {
        json.key(name).beginObject().field("sum_s", time.sumS);
        put(json, "max_s", time.maxS);
        json.endObject();
    }
    json.endObject();
}

void put(JsonWriter &json, const std::vector<ReplicaTime> &replicas) {
    putObjects(json, "replicas", replicas, [&](const ReplicaTime &replica) {
        json.field("device", replica.device);
        put(json, replica.phases);
    });
}

void put(JsonWriter &json, const Scalars &scalars) {
    if (scalars.empty())
        return;
    json.key("scalars").beginObject();
    for (const auto &[name, window] : scalars)
        json.key(name)
            .beginObject()
            .field("sum", window.sum)
            .field("weight", window.weight)
            .field("min", window.min)
            .field("max", window.max)
            .field("last", window.last)
            .endObject();
    json.endObject();
}

void putKeys(JsonWriter &json, const ProcessSample &process) {
    put(json, "rank", process.rank);
    json.field("pid", process.pid);
    put(json, "cpu_cores", process.cpuCores);
    put(json, "rss_bytes", process.rssBytes);
}

void put(JsonWriter &json, std::string_view key, const std::vector<ProcessSample> &processes) {
    putObjects(json, key, processes, [&](const ProcessSample &process) { putKeys(json, process); });
}

void put(JsonWriter &json, const DeviceSample &device) {
    json.beginObject().field("device", device.device);
    put(json, "kind", device.kind);
    put(json, "name", device.name);
    put(json, "cores", device.cores);
    for (const DeviceField &field : deviceFields)
        put(json, field.name, device.*field.value);
    putArray(json, "throttle", device.throttle);
    json.endObject();
}

void putTexts(JsonWriter &json, std::string_view key, const std::map<std::string, std::string, std::less<>> &texts) {
    if (texts.empty())
        return;
    json.key(key).beginObject();
    for (const auto &[name, text] : texts)
        json.field(name, text);
    json.endObject();
}

struct BodyWriter {
    JsonWriter &json;

    void operator()(const HeaderFrame &header) const {
        json.field("format", header.format).field("run", header.run);
        put(json, "host", header.host);
    }

    void operator()(const StateFrame &state) const {
        json.field("state", toString(state.state));
        put(json, "detail", state.detail);
        put(json, "epoch", state.epoch);
        put(json, "pid", state.pid);
        put(json, "host", state.host);
        put(json, "device", state.device);
        put(json, "cores", state.cores);
        put(json, "backend", state.backend);
        put(json, "world_size", state.worldSize);
        put(json, "threads", state.threads);
        put(json, "scheduling", state.scheduling);
        put(json, "version", state.version);
        put(json, "total_steps", state.totalSteps);
        put(json, "steps_per_epoch", state.stepsPerEpoch);
        put(json, "epochs", state.epochs);
        putArray(json, "replica_batch", state.replicaBatch);
        putTexts(json, "about", state.about);
        putTexts(json, "files", state.files);
        if (state.countsAnew)
            json.field("counts_anew", true);
        if (state.leavesPausesOut)
            json.field("leaves_pauses_out", true);
    }

    void operator()(const StepsFrame &steps) const {
        json.field("epoch", steps.epoch)
            .field("first_step", steps.firstStep)
            .field("last_step", steps.lastStep)
            .field("count", steps.count)
            .field("samples", steps.samples);
        if (steps.loss)
            json.key("loss")
                .beginObject()
                .field("min", steps.loss->min)
                .field("mean", steps.loss->mean)
                .field("max", steps.loss->max)
                .field("last", steps.loss->last)
                .endObject();
        put(json, steps.phases);
        put(json, steps.replicas);
        put(json, steps.scalars);
    }

    void operator()(const EpochFrame &epoch) const {
        json.field("epoch", epoch.epoch);
        put(json, "loss", epoch.loss);
        json.field("duration_s", epoch.durationS)
            .field("samples", epoch.samples)
            .field("steps", epoch.steps)
            .field("start_mono_ns", epoch.startMonoNs);
        put(json, "ready_batches", epoch.readyBatches);
        put(json, epoch.phases);
        put(json, epoch.replicas);
        put(json, epoch.scalars);
        if (epoch.before) {
            json.key("before")
                .beginObject()
                .field("duration_s", epoch.before->durationS)
                .field("samples", epoch.before->samples)
                .field("steps", epoch.before->steps);
            put(json, epoch.before->phases);
            json.endObject();
        }
        putObjects(json, "devices", epoch.devices, [&](const DeviceEpochUse &use) {
            json.field("device", use.device);
            put(json, "utilization_mean", use.utilizationMean);
            put(json, "utilization_max", use.utilizationMax);
            put(json, "memory_mean_bytes", use.memoryMeanBytes);
            put(json, "memory_max_bytes", use.memoryMaxBytes);
        });
    }

    void operator()(const EvalFrame &eval) const {
        json.field("epoch", eval.epoch).field("accuracy", eval.accuracy);
        put(json, "loss", eval.loss);
        json.field("samples", eval.samples);
        putArray(json, "per_class_accuracy", eval.perClassAccuracy);
        put(json, "duration_s", eval.durationS);
    }

    void operator()(const DeviceFrame &frame) const {
        json.field("interval_s", frame.intervalS).key("devices").beginArray();
        for (const auto &device : frame.devices)
            put(json, device);
        json.endArray();
        put(json, "processes", frame.processes);
        if (frame.agent) {
            json.key("agent").beginObject();
            putKeys(json, *frame.agent);
            json.endObject();
        }
        put(json, "viewers", frame.viewers);
    }

    void operator()(const CommFrame &comm) const {
        json.field("epoch", comm.epoch).field("first_step", comm.firstStep).field("last_step", comm.lastStep);
        put(json, "exposed_s", comm.exposedS);
        put(json, "wait_s", comm.waitS);
        put(json, "hidden_s", comm.hiddenS);
        putObjects(json, "buckets", comm.buckets, [&](const auto &bucket) {
            json.field("bucket", bucket.bucket).field("size_bytes", bucket.sizeBytes).field("count", bucket.count);
            put(json, "ready_s", bucket.readyS);
            put(json, "start_s", bucket.startS);
            put(json, "end_s", bucket.endS);
        });
        putArray(json, "staleness", comm.staleness);
        if (comm.stageSteps > 0)
            json.field("stage_steps", comm.stageSteps);
        putObjects(json, "stage_work", comm.stageWork, [&](const StageWork &work) {
            json.field("phase", work.phase).field("micro_batch", work.microBatch);
            json.field("start_s", work.startS).field("end_s", work.endS);
        });
    }

    void operator()(const LogFrame &log) const {
        json.field("level", log.level).field("message", log.message);
        put(json, "source", log.source);
    }

    void operator()(const AlertFrame &alert) const {
        json.field("severity", alert.severity).field("kind", alert.kind).field("message", alert.message);
        put(json, "step", alert.step);
    }

    void operator()(const HeartbeatFrame &beat) const {
        if (!beat.at)
            return;
        json.key("at").beginObject();
        put(json, "step", beat.at->step);
        put(json, "phase", beat.at->phase);
        put(json, "since_s", beat.at->sinceS);
        put(json, "collectives", beat.at->collectives);
        put(json, "collectives_ended", beat.at->collectivesEnded);
        put(json, "wait_s", beat.at->waitS);
        json.endObject();
    }

    void operator()(const ExitFrame &exit) const {
        json.field("pid", exit.pid);
        put(json, "host", exit.host);
        put(json, "code", exit.code);
        put(json, "signal", exit.signal);
        put(json, "signal_name", exit.signalName);
        put(json, "reason", exit.reason);
    }

    void operator()(const LinkFrame &link) const {
        json.field("of_node", link.ofNode);
        put(json, "host", link.host);
        json.field("link", link.link);
        put(json, "reason", link.reason);
        put(json, "next_seq", link.nextSeq);
        put(json, "clock_offset_s", link.clockOffsetS);
        put(json, "round_trip_s", link.roundTripS);
    }

    void operator()(const UnknownFrame &) const {}
};

std::string write(const Frame &frame) {
    JsonWriter json;
    json.beginObject().field("type", typeOf(frame));
    put(json, "rank", frame.rank);
    put(json, "rseq", frame.rseq);
    json.field("mono_ns", frame.monoNs).field("wall_us", frame.wallUs);
    std::visit(BodyWriter{json}, frame.body);
    for (const auto &[key, text] : frame.extra)
        json.key(key).raw(text);
    put(json, "node", frame.node);
    put(json, "seq", frame.seq);
    json.endObject();
    return json.take();
}

/// The text of a frame that may have any length.
std::string *freeText(FrameBody &body) {
    if (auto *log = std::get_if<LogFrame>(&body))
        return &log->message;
    if (auto *alert = std::get_if<AlertFrame>(&body))
        return &alert->message;
    if (auto *state = std::get_if<StateFrame>(&body))
        return &state->detail;
    if (auto *exit = std::get_if<ExitFrame>(&body))
        return &exit->reason;
    if (auto *link = std::get_if<LinkFrame>(&body))
        return &link->reason;
    return nullptr;
}

} // namespace

std::string encode(const Frame &frame) {
    // Leaves room for the newline and for the node, seq and crc that sealing adds.
    constexpr std::size_t room = maxFrameBytes - 128;
    std::string line = write(frame);
    if (line.size() <= room)
        return line;
    Frame shorter = frame;
    std::string *text = freeText(shorter.body);
    if (!text)
        return line;
    const std::string whole = *text;
    // A byte may take up to six when encoded (\u0001). So cut in proportion, and again if that was not enough.
    std::size_t keep = whole.size();
    while (line.size() > room && keep > 0) {
        const std::size_t share = keep * room / line.size();
        keep = utf8Boundary(whole, share > 40 ? share - 40 : 0);
        *text = whole.substr(0, keep) + "… (" + std::to_string(whole.size() - keep) + " bytes cut)";
        line = write(shorter);
    }
    return line;
}

} // namespace lockstep
