// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "ipc/class_limit.h"
#include "ipc/device_fields.h"
#include "ipc/frames.h"
#include "ipc/object_reader_detail.h"
#include "ipc/placement.h"
#include "ipc/printable.h"
#include "ipc/thousands.h"

namespace lockstep {

namespace {

using detail::anyDuplicate;
using detail::Mistake;
using detail::ObjectReader;
using detail::readReal;
namespace dom = simdjson::dom;

// Bounds on values in a frame, so that readers can size tables by them.
constexpr std::int64_t maxInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t maxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t maxDepth = 32;
constexpr std::size_t mostEpochDevices = 1024;   ///< readers keep them for each epoch, and a machine has fewer
constexpr std::size_t mostDeviceNameBytes = 200; ///< of a longer name the beginning is taken

void readDeviceName(ObjectReader &reader, std::string &name) {
    reader.text("device", name, true);
    name = cutText(std::move(name), mostDeviceNameBytes);
}

void readPhases(ObjectReader &reader, PhaseTimes &phases) {
    auto object = reader.object("phases");
    if (!object)
        return;
    object->each([&](std::string_view name, const dom::element &value) {
        if (!value.is_object())
            return reader.mistake().set("phases", "an object of objects");
        if (!keepsPhase(name, phases.size()))
            return;
        ObjectReader time(value.get_object().value_unsafe(), reader.mistake());
        PhaseTime &phase = phases[withoutTurns(std::string(name))];
        time.duration("sum_s", phase.sumS, "phases." + std::string(name) + ".sum_s");
        time.duration("max_s", phase.maxS, "phases." + std::string(name) + ".max_s");
    });
}

void readReplicas(ObjectReader &reader, std::vector<ReplicaTime> &replicas) {
    reader.objects("replicas", [&](ObjectReader &object) {
        ReplicaTime &replica = replicas.emplace_back();
        readDeviceName(object, replica.device);
        readPhases(object, replica.phases);
    });
}

/// A plain number is a single value. In an object, min, max and last may be absent; then they equal the mean.
void readScalar(std::string_view name, const dom::element &value, ObjectReader &reader, Scalars &scalars) {
    double number = 0;
    if (value.is_null())
        return;
    if (!isScalarName(name) || scalars.size() >= maxScalars)
        return reader.mistake().set("scalars", "at most " + std::to_string(maxScalars) +
                                                   " names of letters, digits and _, each at most " +
                                                   std::to_string(maxScalarNameBytes) + " long");
    if (readReal(value, number)) {
        scalars.emplace(name, scalarOf(number));
        return;
    }
    if (!value.is_object())
        return reader.mistake().set("scalars", "an object of numbers and objects");
    ObjectReader window(value.get_object().value_unsafe(), reader.mistake());
    ScalarWindow &scalar = scalars[std::string(name)];
    window.real("sum", scalar.sum);
    window.real("weight", scalar.weight);
    if (!(scalar.weight > 0) || !std::isfinite(scalar.weight))
        return reader.mistake().set("weight", "above 0");
    std::optional<double> min, max, last;
    window.real("min", min);
    window.real("max", max);
    window.real("last", last);
    scalar.min = min.value_or(scalar.mean());
    scalar.max = max.value_or(scalar.mean());
    scalar.last = last.value_or(scalar.mean());
}

void readScalars(ObjectReader &reader, Scalars &scalars) {
    if (const auto object = reader.object("scalars"))
        object->each(
            [&](std::string_view name, const dom::element &value) { readScalar(name, value, reader, scalars); });
}

ProcessSample readProcess(ObjectReader &reader) {
    ProcessSample process;
    reader.integer("rank", process.rank, 0, maxRank);
    reader.integer("pid", process.pid, 0, maxInt64);
    reader.finite("cpu_cores", process.cpuCores);
    reader.finite("rss_bytes", process.rssBytes);
    return process;
}

/// Strings, numbers and booleans as text; null is unknown.
void readAbout(ObjectReader &reader, About &about) {
    auto object = reader.object("about");
    if (!object)
        return;
    object->each([&](std::string_view key, const dom::element &value) {
        std::string_view text;
        if (value.is_object() || value.is_array())
            reader.mistake().set("about", "an object of texts, numbers and switches");
        else if (!value.get_string().get(text))
            about.emplace(key, withoutTurns(std::string(text)));
        else if (!value.is_null())
            about.emplace(key, simdjson::minify(value));
    });
}

void readFiles(ObjectReader &reader, FileDigests &files) {
    auto object = reader.object("files");
    if (!object)
        return;
    object->each([&](std::string_view name, const dom::element &value) {
        std::string_view digest;
        if (value.get_string().get(digest))
            reader.mistake().set("files", "an object of SHA-256 digests");
        else if (files.size() < mostFiles)
            files.emplace(name, digest);
    });
}

void read(ObjectReader &reader, HeaderFrame &header) {
    reader.integer("format", header.format, 1, maxInt);
    reader.text("run", header.run, true);
    reader.text("host", header.host);
}

void read(ObjectReader &reader, StateFrame &state) {
    std::string name;
    reader.text("state", name, true);
    if (const auto known = runStateFrom(name))
        state.state = *known;
    else
        reader.mistake().set("state", "init, training, evaluating, checkpointing, done, failed or stopped");
    reader.text("detail", state.detail);
    reader.integer("epoch", state.epoch, 1, highestEpoch);
    reader.integer("pid", state.pid, 0, maxInt64);
    reader.text("host", state.host);
    reader.text("device", state.device);
    reader.text("cores", state.cores);
    reader.text("backend", state.backend);
    reader.integer("world_size", state.worldSize, 1, maxRank);
    reader.integer("threads", state.threads, 0, maxInt);
    reader.text("scheduling", state.scheduling);
    reader.text("version", state.version);
    reader.integer("total_steps", state.totalSteps, 0, mostCounted);
    reader.integer("steps_per_epoch", state.stepsPerEpoch, 0, mostCounted);
    reader.integer("epochs", state.epochs, 0, highestEpoch);
    reader.array("replica_batch", [&](const dom::element &item) {
        std::int64_t samples = -1;
        if (item.get_int64().get(samples) || samples < 0)
            reader.mistake().set("replica_batch", "a list of whole numbers");
        state.replicaBatch.push_back(samples);
    });
    readAbout(reader, state.about);
    readFiles(reader, state.files);
    reader.truth("counts_anew", state.countsAnew);
    reader.truth("leaves_pauses_out", state.leavesPausesOut);
}

void read(ObjectReader &reader, StepsFrame &steps) {
    reader.integer("epoch", steps.epoch, 1, highestEpoch);
    reader.integer("first_step", steps.firstStep, 0, mostCounted);
    reader.integer("last_step", steps.lastStep, 0, mostCounted);
    reader.integer("count", steps.count, 0, mostCounted);
    reader.integer("samples", steps.samples, 0, mostCounted);
    if (steps.lastStep < steps.firstStep)
        reader.mistake().set("last_step", "first_step or more");
    if (auto loss = reader.object("loss")) {
        LossWindow &window = steps.loss.emplace();
        loss->real("min", window.min);
        loss->real("mean", window.mean);
        loss->real("max", window.max);
        loss->real("last", window.last);
    }
    readPhases(reader, steps.phases);
    readReplicas(reader, steps.replicas);
    readScalars(reader, steps.scalars);
}

void read(ObjectReader &reader, EpochFrame &epoch) {
    reader.integer("epoch", epoch.epoch, 1, highestEpoch);
    reader.real("loss", epoch.loss);
    reader.duration("duration_s", epoch.durationS);
    reader.integer("samples", epoch.samples, 0, mostCounted);
    reader.integer("steps", epoch.steps, 0, mostCounted);
    if (epoch.steps > 0 && !isTimeOfWork(epoch.durationS))
        reader.mistake().set("duration_s", "a nanosecond or more for an epoch that has steps, but is " +
                                               valueInWords(epoch.durationS));
    reader.integer("start_mono_ns", epoch.startMonoNs, 0, latestMonoNs);
    reader.integer("ready_batches", epoch.readyBatches, 0, mostCounted);
    readPhases(reader, epoch.phases);
    readReplicas(reader, epoch.replicas);
    readScalars(reader, epoch.scalars);
    if (auto object = reader.object("before")) {
        MadeBefore &before = epoch.before.emplace();
        object->duration("duration_s", before.durationS);
        object->integer("samples", before.samples, 0, epoch.samples);
        object->integer("steps", before.steps, 0, epoch.steps);
        if (before.durationS > epoch.durationS)
            object->mistake().set("duration_s", "at most the epoch's");
        readPhases(*object, before.phases);
    }
    reader.objects("devices", [&](ObjectReader &object) {
        if (epoch.devices.size() >= mostEpochDevices)
            return reader.mistake().set("devices", "at most " + thousands(mostEpochDevices) + " devices");
        DeviceEpochUse &use = epoch.devices.emplace_back();
        readDeviceName(object, use.device);
        object.finite("utilization_mean", use.utilizationMean);
        object.finite("utilization_max", use.utilizationMax);
        object.finite("memory_mean_bytes", use.memoryMeanBytes);
        object.finite("memory_max_bytes", use.memoryMaxBytes);
    });
}

void read(ObjectReader &reader, EvalFrame &eval) {
    reader.integer("epoch", eval.epoch, 1, highestEpoch);
    reader.share("accuracy", eval.accuracy);
    reader.real("loss", eval.loss);
    reader.integer("samples", eval.samples, 0, mostCounted);
    reader.array("per_class_accuracy", [&](const dom::element &item) {
        if (eval.perClassAccuracy.size() >= mostClasses)
            return reader.mistake().set("per_class_accuracy", "at most " + thousands(mostClasses) +
                                                                  " numbers, and can be left out where there are more");
        double &share = eval.perClassAccuracy.emplace_back();
        if (!readReal(item, share) || !(isShare(share) || std::isnan(share))) // NaN: no sample of that class
            reader.mistake().set("per_class_accuracy", "a list of numbers from 0 to 1");
    });
    reader.duration("duration_s", eval.durationS);
}

void read(ObjectReader &reader, DeviceFrame &frame) {
    reader.duration("interval_s", frame.intervalS);
    reader.objects(
        "devices",
        [&](ObjectReader &object) {
            DeviceSample &device = frame.devices.emplace_back();
            readDeviceName(object, device.device);
            object.text("kind", device.kind);
            object.text("name", device.name);
            object.text("cores", device.cores);
            for (const DeviceField &field : deviceFields)
                object.finite(field.name, device.*field.value);
            object.array("throttle", [&](const dom::element &item) {
                std::string_view reason;
                if (item.get_string().get(reason))
                    reader.mistake().set("throttle", "a list of texts");
                device.throttle.push_back(withoutTurns(std::string(reason)));
            });
        },
        true);
    reader.objects("processes", [&](ObjectReader &object) { frame.processes.push_back(readProcess(object)); });
    if (auto agent = reader.object("agent"))
        frame.agent = readProcess(*agent);
    reader.objects("viewers", [&](ObjectReader &object) { frame.viewers.push_back(readProcess(object)); });
}

void read(ObjectReader &reader, CommFrame &comm) {
    reader.integer("epoch", comm.epoch, 1, highestEpoch);
    reader.integer("first_step", comm.firstStep, 0, mostCounted);
    reader.integer("last_step", comm.lastStep, 0, mostCounted);
    reader.duration("exposed_s", comm.exposedS);
    reader.duration("wait_s", comm.waitS);
    reader.duration("hidden_s", comm.hiddenS);
    reader.objects("buckets", [&](ObjectReader &object) {
        BucketTime &bucket = comm.buckets.emplace_back();
        object.integer("bucket", bucket.bucket, 0, maxRank);
        object.integer("size_bytes", bucket.sizeBytes, 0, maxInt64);
        object.integer("count", bucket.count, 0, mostCounted);
        object.finite("ready_s", bucket.readyS);
        object.finite("start_s", bucket.startS);
        object.finite("end_s", bucket.endS);
    });
    reader.array("staleness", [&](const dom::element &item) {
        std::int64_t &count = comm.staleness.emplace_back();
        if (item.get_int64().get(count) || count < 0 || count > mostCounted ||
            comm.staleness.size() > mostStaleness + 1)
            reader.mistake().set("staleness", "at most " + std::to_string(mostStaleness + 1) + " counts");
    });
    std::optional<std::int64_t> stageSteps;
    reader.integer("stage_steps", stageSteps, 0, mostCounted);
    comm.stageSteps = stageSteps.value_or(0);
    reader.objects("stage_work", [&](ObjectReader &object) {
        StageWork &work = comm.stageWork.emplace_back();
        object.text("phase", work.phase, true);
        object.integer("micro_batch", work.microBatch, 0, int(mostStageWork));
        object.duration("start_s", work.startS);
        object.duration("end_s", work.endS);
        if (comm.stageWork.size() > mostStageWork)
            object.mistake().set("stage_work", "at most " + std::to_string(mostStageWork) + " parts");
    });
}

void read(ObjectReader &reader, LogFrame &log) {
    reader.text("level", log.level, true);
    reader.text("message", log.message, true);
    reader.text("source", log.source);
}

void read(ObjectReader &reader, AlertFrame &alert) {
    reader.text("severity", alert.severity, true);
    reader.text("kind", alert.kind, true);
    reader.text("message", alert.message, true);
    reader.integer("step", alert.step, 0, mostCounted);
}

void read(ObjectReader &reader, HeartbeatFrame &beat) {
    auto at = reader.object("at");
    if (!at)
        return;
    RankPosition &position = beat.at.emplace();
    at->integer("step", position.step, 0, mostCounted);
    at->text("phase", position.phase);
    at->duration("since_s", position.sinceS);
    at->integer("collectives", position.collectives, 0, mostCounted);
    at->integer("collectives_ended", position.collectivesEnded, 0, mostCounted);
    at->duration("wait_s", position.waitS);
}

void read(ObjectReader &reader, ExitFrame &exit) {
    reader.integer("pid", exit.pid, 0, maxInt64);
    reader.text("host", exit.host);
    reader.integer("code", exit.code, -maxInt, maxInt);
    reader.integer("signal", exit.signal, 0, maxInt);
    reader.text("signal_name", exit.signalName);
    reader.text("reason", exit.reason);
}

void read(ObjectReader &reader, LinkFrame &link) {
    std::optional<int> node;
    reader.integer("of_node", node, 0, mostNodes - 1);
    link.ofNode = node.value_or(0);
    reader.text("host", link.host);
    reader.text("link", link.link, true);
    reader.text("reason", link.reason);
    reader.counter("next_seq", link.nextSeq);
    reader.finite("clock_offset_s", link.clockOffsetS);
    if (link.clockOffsetS && std::fabs(*link.clockOffsetS) > longestDurationS)
        reader.mistake().set("clock_offset_s", "at most 31 years, but is " + valueInWords(*link.clockOffsetS));
    reader.duration("round_trip_s", link.roundTripS);
}

void read(ObjectReader &, UnknownFrame &) {}

FrameBody bodyOf(std::string_view type) {
    if (type == "header")
        return HeaderFrame{};
    if (type == "state")
        return StateFrame{};
    if (type == "steps")
        return StepsFrame{};
    if (type == "epoch")
        return EpochFrame{};
    if (type == "eval")
        return EvalFrame{};
    if (type == "device")
        return DeviceFrame{};
    if (type == "comm")
        return CommFrame{};
    if (type == "log")
        return LogFrame{};
    if (type == "alert")
        return AlertFrame{};
    if (type == "heartbeat")
        return HeartbeatFrame{};
    if (type == "exit")
        return ExitFrame{};
    if (type == "link")
        return LinkFrame{};
    return UnknownFrame{std::string(type)};
}

} // namespace

struct Decoder::Impl {
    dom::parser parser{maxFrameBytes};
    std::optional<dom::object> decoded; ///< in the parser's memory
};

Decoder::Decoder() : m_impl(new Impl) {
    // A frame nested more deeply than any of ours is refused while parsing, before it uses stack.
    if (m_impl->parser.allocate(maxFrameBytes, maxDepth))
        throw std::bad_alloc();
}
Decoder::~Decoder() {
    delete m_impl;
}
Decoder::Decoder(Decoder &&other) noexcept : m_impl(std::exchange(other.m_impl, nullptr)) {}
Decoder &Decoder::operator=(Decoder &&other) noexcept {
    std::swap(m_impl, other.m_impl);
    return *this;
}

Result<Frame> Decoder::decode(std::string_view line) {
    m_impl->decoded.reset();
    if (line.size() >= maxFrameBytes)
        return fail(Error::failed("a frame of " + std::to_string(line.size()) + " bytes is too long",
                                  "a frame has at most " + std::to_string(maxFrameBytes - 1) + " bytes"));
    dom::element root;
    if (const auto error = m_impl->parser.parse(line.data(), line.size()).get(root))
        return fail(Error::failed(std::string("a frame is not valid JSON: ") + simdjson::error_message(error)));
    if (!root.is_object())
        return fail(Error::failed("a frame should be a JSON object"));
    if (anyDuplicate(root))
        return fail(Error::failed("a frame has the same key twice"));

    Mistake mistake;
    m_impl->decoded = root.get_object().value_unsafe();
    ObjectReader reader(*m_impl->decoded, mistake);
    Frame frame;
    std::string type;
    reader.text("type", type, true);
    if (type.empty())
        mistake.set("type", "the name of a frame type");
    reader.integer("rank", frame.rank, 0, maxRank);
    reader.counter("rseq", frame.rseq);
    reader.integer("mono_ns", frame.monoNs, 0, latestMonoNs);
    reader.integer("wall_us", frame.wallUs, 0, latestWallUs);
    reader.integer("node", frame.node, 0, mostNodes - 1);
    reader.counter("seq", frame.seq);
    static_cast<void>(reader.find("crc"));
    if (frame.rseq && !frame.rank)
        mistake.set("rank", "present beside rseq");
    frame.body = bodyOf(type);
    std::visit([&](auto &body) { read(reader, body); }, frame.body);
    if (mistake.error)
        return fail(std::move(*mistake.error));
    reader.eachUnread([&](std::string_view key, const dom::element &value) {
        frame.extra.emplace_back(std::string(key), simdjson::minify(value));
    });
    return frame;
}

bool Decoder::has(std::string_view key) const {
    if (m_impl->decoded)
        for (const auto field : *m_impl->decoded)
            if (field.key == key)
                return true;
    return false;
}

} // namespace lockstep
