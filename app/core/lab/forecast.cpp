// SPDX-License-Identifier: MIT
#include "lab/forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::core {
namespace {

constexpr double mib = 1024.0 * 1024;
constexpr double computeSpread = 0.05; ///< possible error of a short run's mean, measured at that batch

/// A device's step at a batch, side by side with others.
struct Compute {
    Interval stepS;
    double backwardS = 0;
    std::optional<double> strayS;
    bool measured = false;
    std::vector<ReadyBucket> buckets = {};
};

const ComputeProbe *probeAt(const ForecastInput &input, int copies, std::int64_t batch) {
    for (const ComputeProbe &probe : input.probes)
        if (probe.copies == copies && probe.batch == batch && probe.stepS > 0)
            return &probe;
    return nullptr;
}

Compute fromProbe(const ComputeProbe &probe, bool unlike) {
    const double off = std::max(computeSpread, probe.slowestS / probe.stepS - 1);
    const double step = unlike ? std::max(probe.stepS, probe.slowestS) : probe.stepS;
    return {{step, probe.stepS / (1 + off), probe.stepS * (1 + off)},
            probe.backwardS * step / probe.stepS,
            probe.strayS,
            true,
            probe.buckets};
}

/// a + k·batch by least squares over the probes of one device; with one batch alone half-way between its extremes.
std::optional<Compute> modelled(const ForecastInput &input, std::int64_t batch) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, backward = 0;
    std::optional<double> stray;
    for (const ComputeProbe &probe : input.probes) {
        if (probe.copies != 1 || !(probe.stepS > 0))
            continue;
        const auto b = double(probe.batch);
        n += 1, x += b, y += probe.stepS, xx += b * b, xy += b * probe.stepS;
        backward += probe.backwardS / probe.stepS;
        stray = probe.strayS;
    }
    if (n == 0)
        return std::nullopt;
    Compute out;
    out.strayS = stray;
    const double spread = n * xx - x * x, share = double(batch) * n / x;
    if (spread > 0) {
        const double slope = std::max(0.0, (n * xy - x * y) / spread), fixed = std::max(0.0, (y - slope * x) / n);
        const double step = fixed + slope * double(batch);
        out.stepS = {step, step / (1 + 2 * computeSpread), step * (1 + 2 * computeSpread)};
    } else {
        const double fixed = y / n, proportional = fixed * share;
        out.stepS = {(fixed + proportional) / 2, std::min(fixed, proportional), std::max(fixed, proportional)};
    }
    out.backwardS = out.stepS.value * backward / n;
    return out;
}

std::optional<Compute> computeOf(const ForecastInput &input, int devices, std::int64_t batch) {
    if (const ComputeProbe *probe = probeAt(input, devices, batch))
        return fromProbe(*probe, input.overNodes);
    if (const ComputeProbe *alone = probeAt(input, 1, batch)) {
        Compute out = fromProbe(*alone, false);
        out.measured = devices == 1; // alone, nobody shares its memory
        out.stepS.high *= devices == 1 ? 1 : 1 + computeSpread;
        return out;
    }
    return modelled(input, batch);
}

struct Communication {
    Interval allS;     ///< every bucket
    double workS = 0;  ///< of it, processor time of a rank
    Interval exposedS; ///< if everything hides that can
    bool ranksMeasured = true;
};

/// As measured; else each bucket is ready at its share of the bytes.
std::vector<ReadyBucket> readyBuckets(const std::vector<double> &buckets, const Compute &compute) {
    if (!compute.buckets.empty())
        return compute.buckets;
    const double all = std::accumulate(buckets.begin(), buckets.end(), 0.0);
    double sent = 0;
    std::vector<ReadyBucket> out;
    for (const double bytes : buckets) {
        sent += bytes;
        out.push_back({bytes, compute.backwardS * sent / all});
    }
    return out;
}

/// Operations of the lab that give a bucket's time, the first that was measured counts; and its processor time, else all of it.
struct Exchanged {
    std::vector<const char *> times;
    const char *work = nullptr;
};
const Exchanged byAllReduce{{inTraining, "all_reduce"}, workInTraining}; // a lab on GPUs has the second alone
constexpr const char *throughServer = "server_all_reduce";
const Exchanged byServer{{throughServer}}, byRing{{"ring_all_reduce"}};

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
        out.ranksMeasured = out.ranksMeasured && time->ranksMeasured;
        const auto work = exchanged.work ? model.predict(exchanged.work, ranks, bytes) : std::nullopt;
        out.workS += work ? std::min(work->seconds, time->seconds) : time->seconds;
    }
    const auto left = [backwardS](double over) { return std::max(0.0, over - backwardS); };
    out.exposedS = {left(end.value), left(end.low), left(end.high)};
    return out;
}

Interval scaled(const Interval &interval, double factor) {
    return {interval.value * factor, interval.low * factor, interval.high * factor};
}

/// Steps of an epoch; the last, smaller batch is one too.
double stepsOf(const ForecastInput &input, int devices) {
    const double batch = double(input.batch) * (input.batchPerDevice ? devices : 1);
    return std::ceil(double(input.samples) / batch);
}

std::string whyNot(const ForecastInput &input, int devices) {
    if (devices > input.devicesHere)
        return "can't tell: " + std::to_string(devices) + " devices, " +
               (input.overNodes ? "these nodes have " : "this machine has ") + std::to_string(input.devicesHere);
    if (!input.batchPerDevice && input.batch % devices != 0)
        return "a batch of " + std::to_string(input.batch) + " can't be shared out among " + std::to_string(devices);
    return {};
}

ForecastRow rowOf(const ForecastInput &input, const CommunicationModel &model, const Forecast &so, Method method,
                  int devices, const Compute &one) {
    ForecastRow row;
    row.method = method;
    row.devices = devices;
    row.whyUnknown = whyNot(input, devices);
    if (!row.whyUnknown.empty())
        return row;
    const std::int64_t batch = input.batchPerDevice ? input.batch : input.batch / devices;
    const auto compute = computeOf(input, devices, batch);
    const Traffic traffic = specOf(method).traffic;
    const bool server = traffic != Traffic::Ring, pushes = traffic == Traffic::Push;
    const auto sent = pushes ? std::vector<ReadyBucket>{{so.gradientBytes, compute->backwardS}}
                             : readyBuckets(so.bucketsBytes, *compute);
    const auto talk = bucketed(model,
                               server       ? byServer
                               : input.ring ? byRing
                                            : byAllReduce,
                               devices, sent, pushes ? 1 : input.sentShare, compute->backwardS);
    if (!talk) {
        row.whyUnknown = std::string("can't tell: the lab did not measure ") + (server       ? "the server's way"
                                                                                : input.ring ? "the ring"
                                                                                             : "all-reduce");
        return row;
    }
    // On a CPU, hidden communication still costs its processor time.
    const double hidden = talk->allS.value - talk->exposedS.value;
    const double paid = input.onCpu ? hidden * talk->workS / talk->allS.value : 0;
    Interval exposed{talk->exposedS.value + paid, talk->exposedS.low, talk->allS.high};
    if (const auto alone = pushes ? model.predict(throughServer, 2, so.gradientBytes) : std::nullopt)
        exposed.low = std::min(exposed.low, alone->low);
    if (pushes && input.onCpu)
        exposed.high += compute->stepS.value / 2;
    row.waitS = pushes ? 0 : compute->strayS.value_or(0) * expectedMost(devices);
    row.computeS = compute->stepS.value;
    row.computeMeasured = compute->measured;
    row.communicationS = talk->allS.value;
    row.exposedS = exposed.value;
    row.ranksMeasured = talk->ranksMeasured;
    row.stepS = {row.computeS + exposed.value + row.waitS, compute->stepS.low + exposed.low,
                 compute->stepS.high + exposed.high + 2 * row.waitS};
    row.epochS = scaled(row.stepS, stepsOf(input, devices));
    row.speedUp = {so.oneDeviceEpochS / row.epochS.value,
                   so.oneDeviceEpochS / row.epochS.high * one.stepS.low / one.stepS.value,
                   so.oneDeviceEpochS / row.epochS.low * one.stepS.high / one.stepS.value};
    return row;
}

std::optional<int> bestOf(const Forecast &forecast, Method method) {
    std::optional<int> best;
    double shortest = forecast.oneDeviceEpochS;
    bool any = false;
    for (const ForecastRow &row : forecast.rows) {
        if (row.method != method || !row.whyUnknown.empty())
            continue;
        any = true;
        if (row.epochS.value < shortest) {
            shortest = row.epochS.value;
            best = row.devices;
        }
    }
    return any ? std::optional(best.value_or(1)) : std::nullopt;
}

std::vector<std::string> reservationsOf(const ForecastInput &input, const Forecast &forecast) {
    std::vector<std::string> out;
    bool modelled = false, unmeasured = false, blind = false;
    for (const ForecastRow &row : forecast.rows) {
        blind = blind || !row.whyUnknown.empty();
        if (!row.whyUnknown.empty())
            continue;
        modelled = modelled || !row.computeMeasured;
        unmeasured = unmeasured || !row.ranksMeasured;
    }
    if (modelled)
        out.emplace_back("Some steps are modelled from single devices' runs.");
    if (unmeasured)
        out.emplace_back("Beyond the lab's ranks, times follow the algorithm's formula.");
    if (blind)
        out.emplace_back("Ranks that share cores were not measured.");
    if (input.onCpu)
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

double sentShareOf(const RunConfig &config) {
    RunConfig ddp = config, plain = config; // what is forecast may be any method's
    ddp.method = plain.method = Method::Ddp;
    plain.compressGradients = RunConfig().compressGradients;
    return double(sentNumberBytes(ddp)) / double(sentNumberBytes(plain));
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
    if (input.batch <= 0 || input.samples <= 0 || !(out.gradientBytes > 0))
        return std::nullopt;
    const auto one = computeOf(input, 1, input.batch);
    if (!one)
        return std::nullopt;
    out.bucketsBytes = bucketsOf(input.parameterBytes, input.bucketMb);
    out.oneDeviceStepS = one->stepS.value;
    out.oneDeviceEpochS = one->stepS.value * stepsOf(input, 1);
    std::vector<int> devices = input.devices;
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    for (const MethodSpec &method : methodTable)
        for (const int n : devices)
            if (n > 1 && sendsGradients(method.traffic) && std::ranges::count(input.methods, method.id) > 0)
                out.rows.push_back(rowOf(input, communication, out, method.id, n, *one));
    for (const Method method : input.methods)
        if (const auto best = bestOf(out, method))
            out.best[method] = *best;
    out.reservations = reservationsOf(input, out);
    return out;
}

std::string bestDevicesSentence(Method method, int devices) {
    return std::string(specOf(method).label) + ": best on " +
           (devices == 1 ? "one device, more are slower." : std::to_string(devices) + " devices.");
}

std::optional<ForecastGrade> gradeForecast(const ForecastRow &row, double measuredStepS) {
    if (!row.whyUnknown.empty() || !(measuredStepS > 0) || !std::isfinite(measuredStepS))
        return std::nullopt;
    return ForecastGrade{row.stepS.value, measuredStepS, row.stepS.value / measuredStepS - 1,
                         measuredStepS >= row.stepS.low && measuredStepS <= row.stepS.high};
}

} // namespace lockstep::core
