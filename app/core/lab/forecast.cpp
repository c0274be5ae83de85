// SPDX-License-Identifier: MIT
#include "lab/forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "experiment/run_names.h"
#include "ipc/model_facts.h"
#include "ipc/run_title.h"

namespace lockstep::core {
namespace {

constexpr double mib = 1024.0 * 1024;

bool isOnCpu(const ForecastInput &input) {
    return input.config.device == "cpu";
}

struct Communication {
    Interval allS;     ///< every bucket
    double workS = 0;  ///< of it, processor time of a rank
    Interval exposedS; ///< if everything hides that can
    bool ranksMeasured = true, bytesMeasured = true;

    void restOn(const Prediction &time) {
        ranksMeasured = ranksMeasured && time.ranksMeasured;
        bytesMeasured = bytesMeasured && time.bytesMeasured;
    }
};

/// As measured, if probes had buckets of that size; else each bucket is ready at its share of the bytes.
std::vector<ReadyBucket> readyBuckets(const ForecastInput &input, const RunConfig &run, const DeviceTime &compute) {
    if (!compute.buckets.empty() && run.bucketMb == input.config.bucketMb)
        return compute.buckets;
    const std::vector<double> buckets = bucketsOf(input.parameterBytes, run.bucketMb);
    const double all = std::accumulate(buckets.begin(), buckets.end(), 0.0);
    double sent = 0;
    std::vector<ReadyBucket> out;
    for (const double bytes : buckets) {
        sent += bytes;
        out.push_back({bytes, compute.backwardS * (compute.accumulate - 1 + sent / all) / compute.accumulate});
    }
    return out;
}

/// How ranks exchange gradients: operations of the lab that give a bucket's time, the first that was measured counts; and its
/// processor time, else all of it.
struct Exchanged {
    const char *name; ///< in a sentence
    std::vector<const char *> times;
    const char *work = nullptr;
};
const Exchanged byAllReduce{
    "all-reduce", {inTraining, "all_reduce"}, workInTraining}; // a lab on GPUs has the second alone
constexpr const char *throughServer = "server_all_reduce";
const Exchanged byServer{"the server's way", {throughServer}}, byRing{"the ring", {"ring_all_reduce"}};

const Exchanged &exchangeOf(const RunConfig &run) {
    return specOf(run.method).traffic != Traffic::Ring ? byServer : run.allReduce == "ring" ? byRing : byAllReduce;
}

std::optional<Communication> bucketed(const CommunicationModel &model, const Exchanged &exchanged, int ranks,
                                      const std::vector<ReadyBucket> &buckets, double sentShare, double backwardS) {
    Communication out;
    Interval end;
    for (const auto &[gradientBytes, ready] : buckets) {
        const double bytes = gradientBytes * sentShare;
        std::optional<Prediction> time;
        for (const char *name : exchanged.times)
            if (!time)
                time = model.predict(name, ranks, bytes);
        if (!time)
            return std::nullopt;
        end.value = std::max(ready, end.value) + time->seconds;
        end.low = std::max(ready, end.low) + time->low;
        end.high = std::max(ready, end.high) + time->high;
        out.allS.value += time->seconds;
        out.allS.low += time->low;
        out.allS.high += time->high;
        out.restOn(*time);
        const auto work = exchanged.work ? model.predict(exchanged.work, ranks, bytes) : std::nullopt;
        out.workS += work ? std::min(work->seconds, time->seconds) : time->seconds;
    }
    const auto left = [backwardS](double over) { return std::max(0.0, over - backwardS); };
    out.exposedS = {left(end.value), left(end.low), left(end.high)};
    return out;
}

/// How ranks share the model's buffers before each forward pass; nothing hides that.
std::optional<Communication> buffersShared(const ForecastInput &input, const RunConfig &run,
                                           const CommunicationModel &model) {
    Communication out;
    if (specOf(run.method).traffic == Traffic::Push)
        return out;
    for (const double bytes : input.bufferBytes) {
        const auto time = model.predict("broadcast", deviceCount(run), bytes);
        if (!time)
            return std::nullopt;
        out.allS.value += time->seconds;
        out.allS.low += time->low;
        out.allS.high += time->high;
        out.restOn(*time);
    }
    return out;
}

/// Steps of an epoch; the last, smaller batch is one too.
double stepsOf(const ForecastInput &input, const RunConfig &run) {
    return std::ceil(double(input.samples) / double(globalBatch(run)));
}

std::string whyNot(const ForecastInput &input, const ForecastRow &row, const RunConfig &run,
                   const Result<DeviceShare> &share) {
    if (row.devices > input.devicesHere)
        return "can't tell: " + std::to_string(row.devices) + " devices, " +
               (input.config.nodes.empty() ? "this machine has " : "these nodes have ") +
               std::to_string(input.devicesHere);
    if (!share)
        return share.error().what;
    if (!specOf(run.method).splitsModel)
        return {};
    if (input.layers.empty())
        return "can't tell: what the model's layers take was not measured";
    ModelFacts model; // of which validate() may not know how many layers it has: a BERT's folder says so
    model.title = modelTitle(run.model);
    model.layers = int(input.layers.size());
    const auto wrong = checkLayers(run, row.devices, model);
    return wrong.empty() ? std::string() : wrong.front().what;
}

/// Bytes that are sent ÷ bytes of the gradients.
double sentShareOf(const RunConfig &run) {
    RunConfig plain = run;
    plain.compressGradients = RunConfig().compressGradients;
    return double(sentNumberBytes(run)) / double(sentNumberBytes(plain));
}

/// The device's own time and an exchange beside it, of which `exposed` does not hide.
StepTime withExchange(const DeviceTime &compute, double communicationS, const Interval &exposed, double waitS) {
    const Interval &own = compute.stepS;
    return {{own.value + exposed.value + waitS, own.low + exposed.low, own.high + exposed.high + 2 * waitS},
            own.value,
            communicationS,
            exposed.value,
            waitS};
}

/// Of that many devices.
double waitForSlowest(const DeviceTime &compute, int devices) {
    return compute.strayS.value_or(0) * expectedMost(devices);
}

/// Samples of a micro-batch of a pipeline's batch.
std::int64_t microBatchOf(const RunConfig &run, std::int64_t batch) {
    return std::max<std::int64_t>(1, std::llround(double(batch) / double(run.microBatches)));
}

/// All-reduces and servers that wait for everybody's gradients.
std::optional<StepTime> exchangedTogether(const ForecastInput &input, const RunConfig &run, const DeviceTime &compute,
                                          const CommunicationModel &model) {
    const int devices = deviceCount(run);
    const auto talk = bucketed(model, exchangeOf(run), devices, readyBuckets(input, run, compute), sentShareOf(run),
                               compute.backwardS);
    const auto buffers = buffersShared(input, run, model);
    if (!talk || !buffers)
        return std::nullopt;
    // On a CPU, hidden communication still costs its processor time.
    const double hidden = talk->allS.value - talk->exposedS.value;
    const double paid = isOnCpu(input) ? hidden * talk->workS / talk->allS.value : 0;
    StepTime out = withExchange(compute, talk->allS.value + buffers->allS.value,
                                {talk->exposedS.value + paid + buffers->allS.value,
                                 talk->exposedS.low + buffers->allS.low, talk->allS.high + buffers->allS.high},
                                waitForSlowest(compute, devices));
    out.ranksMeasured = talk->ranksMeasured && buffers->ranksMeasured;
    out.bytesMeasured = talk->bytesMeasured && buffers->bytesMeasured;
    return out;
}

/// An asynchronous server.
std::optional<StepTime> exchangedAlone(const ForecastInput &input, const RunConfig &run, const Forecast &so,
                                       const DeviceTime &compute, const CommunicationModel &model) {
    const int devices = deviceCount(run), training = trainingDevices(run, devices);
    const bool apart = training < devices;
    const double servers = apart ? run.serverDevices : run.servers;
    const auto shared = model.predict(throughServer, apart ? training + 1 : devices, so.gradientBytes);
    const auto alone = model.predict(throughServer, 2, so.gradientBytes);
    if (!shared || !alone)
        return std::nullopt;
    const double each = std::max(alone->seconds, shared->seconds / servers);
    const bool turns = isOnCpu(input) && !apart; // with rank 0's training
    const bool together = run.maxStaleness == 0;
    const double low = together ? each * shared->low / shared->seconds : std::min(alone->low, shared->low);
    const double wait = waitForSlowest(compute, training);
    StepTime out = withExchange(
        compute, each, {each, low, std::max(alone->high, shared->high) + (turns ? compute.stepS.value / 2 : 0)},
        together ? wait : 0);
    if (run.maxStaleness > 0)
        out.stepS.high += 2 * wait;
    out.ranksMeasured = shared->ranksMeasured;
    out.bytesMeasured = shared->bytesMeasured;
    return out;
}

/// Of each stage but the last, whether its messages to the next one go to another node.
std::vector<bool> leavesNode(const RunConfig &run, int stages) {
    std::vector<std::size_t> nodeOf; // of each rank
    for (std::size_t node = 0; node < run.nodes.size(); ++node)
        nodeOf.insert(nodeOf.end(), run.nodes[node].devices.size(), node);
    std::vector<bool> out(std::size_t(stages - 1));
    for (std::size_t rank = 0; rank + 1 < nodeOf.size(); ++rank) // rank r computes stage r % stages
        if (const std::size_t stage = rank % std::size_t(stages); stage < out.size())
            out[stage] = out[stage] || nodeOf[rank] != nodeOf[rank + 1];
    return out;
}

std::optional<StepTime> throughStages(const ForecastInput &input, const RunConfig &run, const DeviceTime &micro,
                                      const CommunicationModel &model) {
    const int devices = deviceCount(run), stages = stageCount(run, devices), pipelines = batchParts(run, devices);
    const std::int64_t batch = globalBatch(run) / pipelines;
    const auto whole = deviceTime(input.probes, 1, batch, input.config.accumulate, Shares::Alike); // forecast() has one
    return pipelineTime(input.layers,
                        {.stages = stages,
                         .pipelines = pipelines,
                         .microBatches = run.microBatches,
                         .samples = microBatchOf(run, batch),
                         .schedule = run.pipelineSchedule,
                         .stageLayers = parseStageLayers(run.stageLayers).value_or(std::vector<int>()),
                         .ownCores = isOnCpu(input) && run.nodes.empty(),
                         .leavesNode = leavesNode(run, stages)},
                        micro, whole->otherS(), model);
}

/// That a pipeline sends, in a sentence.
std::string messagesOf(const RunConfig &run) {
    const auto leaves = leavesNode(run, stageCount(run, deviceCount(run)));
    return std::ranges::count(leaves, true) > 0 ? "messages between ranks of different nodes"
                                                : "messages between two ranks";
}

Shares sharesOf(const ForecastInput &input, const RunConfig &run) {
    if (appliesTo(*findField("shards"), run) && run.shards != RunConfig().shards)
        return Shares::BySpeed;
    return input.config.nodes.empty() ? Shares::Alike : Shares::Even;
}

ForecastRow rowOf(const ForecastInput &input, const CommunicationModel &model, const Forecast &so,
                  const ForecastRun &wanted, const DeviceTime &one) {
    ForecastRow row;
    row.way = wanted.way;
    row.devices = wanted.devices;
    const RunConfig run = configOf(input.config, wanted.way, wanted.devices);
    const auto share = shareOf(run);
    row.whyUnknown = whyNot(input, row, run, share);
    if (!row.whyUnknown.empty())
        return row;
    const int accumulate = knowsKey(run.method, "accumulate") ? run.accumulate : RunConfig().accumulate;
    const auto own = deviceTime(input.probes, share->copies, share->batch, accumulate, sharesOf(input, run));
    if (!own) {
        row.whyUnknown =
            "can't tell: no step was measured of " +
            (accumulate == 1 ? "a batch that is not cut" : "a batch in " + std::to_string(accumulate) + " parts");
        return row;
    }
    const MethodSpec &method = specOf(run.method);
    const auto step = method.splitsModel                ? throughStages(input, run, *own, model)
                      : method.traffic == Traffic::Push ? exchangedAlone(input, run, so, *own, model)
                                                        : exchangedTogether(input, run, *own, model);
    if (!step) {
        row.whyUnknown = std::string("can't tell: the lab did not measure ") +
                         (method.splitsModel                  ? messagesOf(run)
                          : !buffersShared(input, run, model) ? "broadcasts, by which ranks share the model's buffers"
                                                              : exchangeOf(run).name);
        return row;
    }
    static_cast<StepTime &>(row) = *step;
    row.computeMeasured = own->measured;
    row.epochS = scaled(row.stepS, stepsOf(input, run));
    row.speedUp = {so.oneDeviceEpochS / row.epochS.value,
                   so.oneDeviceEpochS / row.epochS.high * one.stepS.low / one.stepS.value,
                   so.oneDeviceEpochS / row.epochS.low * one.stepS.high / one.stepS.value};
    return row;
}

std::vector<std::string> reservationsOf(const ForecastInput &input, const Forecast &forecast) {
    std::vector<std::string> out;
    bool modelled = false, unmeasured = false, beyond = false, blind = false, layered = false;
    for (const ForecastRow &row : forecast.rows) {
        blind = blind || row.devices > input.devicesHere;
        if (!row.whyUnknown.empty())
            continue;
        modelled = modelled || !row.computeMeasured;
        unmeasured = unmeasured || !row.ranksMeasured;
        beyond = beyond || !row.bytesMeasured;
        layered = layered || specOf(row.way.method).splitsModel;
    }
    if (modelled)
        out.emplace_back("Some steps are modelled from single devices' runs.");
    if (unmeasured)
        out.emplace_back("Beyond the lab's ranks, times follow the algorithm's formula.");
    if (beyond)
        out.emplace_back("Beyond the lab's sizes, times follow its fit's outermost straight piece.");
    if (blind)
        out.emplace_back("Ranks that share cores were not measured.");
    if (layered)
        out.emplace_back("A pipeline's stages are as long as their layers' parts of one device's step; a run measures "
                         "the layers anew and may share them out otherwise.");
    if (isOnCpu(input))
        out.emplace_back(
            "On CPU devices communication takes the ranks' own cores: only its waiting can hide behind backward.");
    return out;
}

} // namespace

std::vector<double> bucketsOf(const std::vector<double> &parameterBytes, double capMb) {
    std::vector<double> buckets;
    double open = 0, cap = std::min(firstBucketMb, capMb) * mib;
    for (auto bytes = parameterBytes.rbegin(); bytes != parameterBytes.rend(); ++bytes) {
        open += *bytes;
        if (open < cap)
            continue;
        buckets.push_back(open);
        open = 0;
        cap = capMb * mib;
    }
    if (open > 0)
        buckets.push_back(open);
    return buckets;
}

RunConfig configOf(const RunConfig &config, const ForecastWay &way, int devices) {
    RunConfig run = config;
    run.method = way.method;
    if (!run.nodes.empty()) {
        run.nodes = firstDevices(config.nodes, devices);
    } else {
        run.devices.clear();
        for (int device = 0; device < devices; ++device)
            run.devices.push_back(std::to_string(device));
    }
    for (const auto &[key, value] : way.settings)
        if (const FieldSpec *field = findField(key))
            (void)field->set(run, value); // they came from a config
    return run;
}

bool belongsToWay(const FieldSpec &field, Method method) {
    return std::ranges::count(specOf(method).keys, field.key) > 0 && !knowsKey(Method::Baseline, field.key) &&
           (field.effect == FieldEffect::Step || field.effect == FieldEffect::Means) && field.key != "backend";
}

ForecastWay wayOf(const RunConfig &run, const RunConfig &config) {
    ForecastWay way{run.method};
    for (const FieldSpec &field : runConfigFields())
        if (belongsToWay(field, run.method) && field.get(run) != field.get(config))
            way.settings.emplace(field.key, field.get(run));
    return way;
}

namespace {

/// Of the method's own that are no defaults, in the order in which runs name them.
std::string ownSettingsText(const RunConfig &run) {
    static const RunConfig defaults;
    std::string text;
    for (const FieldSpec &field : runConfigFields())
        if (belongsToWay(field, run.method) && field.get(run) != field.get(defaults))
            text += ", " + settingText(run, field.key);
    return text;
}

/// Whether epochs of `other` may be as short as these.
bool mayReach(const Interval &epochS, const Interval &other) {
    return other.low <= epochS.high;
}

} // namespace

std::set<ForecastRun> runsOf(const std::set<ForecastWay> &ways, const std::vector<int> &devices) {
    std::set<ForecastRun> runs;
    for (const ForecastWay &way : ways)
        for (const int n : devices)
            if (n > 1 && specOf(way.method).traffic != Traffic::None)
                runs.insert({way, n});
    return runs;
}

std::string nameOf(const RunConfig &config, const ForecastWay &way, int devices) {
    return titleOn(specOf(way.method).title, devices) + ownSettingsText(configOf(config, way, devices));
}

Result<DeviceShare> shareOf(const RunConfig &run) {
    if (auto wrong = validate(run); !wrong.empty())
        return fail(std::move(wrong.front()));
    const int devices = deviceCount(run);
    const std::int64_t share = globalBatch(run) / batchParts(run, devices);
    if (!specOf(run.method).splitsModel)
        return DeviceShare{trainingDevices(run, devices), share};
    return DeviceShare{devices, microBatchOf(run, share)};
}

double expectedMost(int draws) {
    // Of 1 to 8 draws (tables of normal order statistics); from there on Blom's approximation is good to 1 %.
    constexpr double known[] = {0, 0, 0.5642, 0.8463, 1.0294, 1.1630, 1.2672, 1.3522, 1.4236};
    if (draws <= 8)
        return known[std::max(0, draws)];
    const double p = (draws - 0.375) / (draws + 0.25);
    const double t = std::sqrt(-2 * std::log(1 - p)); // Abramowitz and Stegun 26.2.23
    return t -
           (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}

std::optional<Forecast> forecast(const ForecastInput &input, const CommunicationModel &communication) {
    Forecast out;
    out.gradientBytes = std::accumulate(input.parameterBytes.begin(), input.parameterBytes.end(), 0.0);
    const RunConfig alone = configOf(input.config, {Method::Baseline}, 1);
    if (globalBatch(alone) <= 0 || input.samples <= 0 || !(out.gradientBytes > 0))
        return std::nullopt;
    const auto one = deviceTime(input.probes, 1, globalBatch(alone), alone.accumulate, Shares::Alike);
    if (!one)
        return std::nullopt;
    out.bucketsBytes = bucketsOf(input.parameterBytes, input.config.bucketMb);
    out.oneDeviceStepS = one->stepS.value;
    out.oneDeviceEpochS = one->stepS.value * stepsOf(input, alone);
    for (const ForecastRun &run : input.runs)
        out.rows.push_back(rowOf(input, communication, out, run, *one));
    out.reservations = reservationsOf(input, out);
    return out;
}

std::optional<int> bestDevices(const Forecast &forecast, const ForecastWay &way) {
    std::vector<const ForecastRow *> rows;
    for (const ForecastRow &row : forecast.rows)
        if (row.way == way && row.whyUnknown.empty())
            rows.push_back(&row);
    if (rows.empty())
        return std::nullopt;
    const ForecastRow &best = **std::ranges::min_element(rows, {}, [](const auto *row) { return row->epochS.value; });
    if (best.speedUp.value <= 1)
        return std::ranges::all_of(rows, [](const auto *row) { return row->speedUp.high < 1; }) ? std::optional(1)
                                                                                                : std::nullopt;
    const bool clear = best.speedUp.low > 1 && std::ranges::none_of(rows, [&](const auto *row) {
                           return row != &best && mayReach(best.epochS, row->epochS);
                       });
    return clear ? std::optional(best.devices) : std::nullopt;
}

std::vector<std::string> bestDevicesSentences(const RunConfig &config, const Forecast &forecast) {
    std::vector<std::string> out;
    std::set<ForecastWay> said;
    for (const ForecastRow &row : forecast.rows) {
        if (!row.whyUnknown.empty() || !said.insert(row.way).second)
            continue;
        const auto best = bestDevices(forecast, row.way);
        out.push_back(std::string(specOf(row.way.method).label) +
                      ownSettingsText(configOf(config, row.way, row.devices)) + ": " +
                      (!best        ? "can't tell on how many devices it is best, since intervals overlap."
                       : *best == 1 ? "best on one device, more are slower."
                                    : "best on " + std::to_string(*best) + " devices."));
    }
    return out;
}

std::optional<ForecastGrade> gradeForecast(const ForecastRow &row, double measuredStepS) {
    if (!row.whyUnknown.empty() || !(measuredStepS > 0) || !std::isfinite(measuredStepS))
        return std::nullopt;
    return ForecastGrade{row.stepS.value, measuredStepS, row.stepS.value / measuredStepS - 1,
                         measuredStepS >= row.stepS.low && measuredStepS <= row.stepS.high};
}

} // namespace lockstep::core
