// SPDX-License-Identifier: MIT
#include "analysis/causes/bottleneck_tips.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ranges>

#include "analysis/compare/result_table.h"
#include "analysis/fairness/setting_factors.h"
#include "analysis/history/work_amount.h"
#include "base/format.h"
#include "ipc/median.h"
#include "nodes/topology.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostTips = 4;
constexpr double worthTrying = 1.03;  ///< a smaller gain is within the noise
constexpr double asSlowWithin = 0.25; ///< of the way from the slowest rank to the fastest
constexpr double slowFrom = 1.05;     ///< own time of a slow rank ÷ the others'
constexpr double explainsFrom = 0.5;  ///< what a slow rank's own work takes longer ÷ the waiting that it explains
constexpr double unhidden =
    0.3; ///< the smallest share of communication that can't hide behind backward: its last bucket

/// Tips with what each could gain at most: the training time of now ÷ what would be left.
class Tips {
public:
    Tips(const RepeatGroup &group, const TimeParts &parts, const MeasuredGroups &others)
        : m_group(group), m_others(others), m_training(parts.trainingS) {
        for (const RepeatGroup &other : others.all())
            if (other.reference && !other.runs.empty() && other.runs.front().config)
                m_reference = &other;
    }

    void add(const std::vector<std::string> &keys, const RunConfig &config, double gain, const std::string &why) {
        if (gain >= worthTrying)
            take(keys, config, gain, "At most " + significant(gain).toStdString() + "×: " + why + ".");
    }
    /// One that makes nothing faster: `why` says what it shows.
    void addPlain(const std::vector<std::string> &keys, const RunConfig &config, const std::string &why) {
        take(keys, config, 1, why);
    }
    /// The gain when `seconds` of training went away.
    [[nodiscard]] double without(double seconds) const {
        return seconds < m_training * 0.99 ? m_training / (m_training - seconds) : 100;
    }
    [[nodiscard]] std::string share(double seconds) const { return percent(seconds / m_training, 0).toStdString(); }

    std::vector<SuggestedRun> take() {
        std::ranges::stable_sort(m_tips, std::greater<>(), [](const auto &tip) { return tip.first; });
        std::vector<SuggestedRun> out;
        for (auto &[gain, run] : m_tips)
            if (out.size() < mostTips)
                out.push_back(std::move(run));
        return out;
    }

private:
    void take(const std::vector<std::string> &keys, RunConfig config, double gain, const std::string &why) {
        const RunConfig &from = *m_group.runs.front().config;
        const bool samePlaces = config.workers == from.workers && config.devices == from.devices &&
                                processCount(config) == processCount(from);
        const bool shared = config.workers == from.workers && from.workerCores.empty(); // no cores of their own before
        if (!samePlaces && !shared && !fitWorkerCores(m_group, config))
            return; // no core is free to load on
        auto run = withChange(m_group, keys, config, m_reference);
        const auto isThere = [&](const RepeatGroup *other) {
            return hasSetting(*other, {config, isScript(m_group), m_group.runs.front().claims.flags});
        };
        if (!run || std::ranges::any_of(m_others.withRepeatOf(config), isThere))
            return;
        run->why = why;
        m_tips.emplace_back(gain, std::move(*run));
    }

    const RepeatGroup &m_group;
    const MeasuredGroups &m_others;
    const RepeatGroup *m_reference = nullptr; ///< whose setting goes without saying in a name
    double m_training;
    std::vector<std::pair<double, SuggestedRun>> m_tips;
};

RunConfig onDevices(const RunConfig &config, std::vector<std::string> devices) {
    RunConfig out = config;
    if (devices.size() == 1)
        out.method = Method::Baseline;
    out.devices = std::move(devices);
    if (out.method == Method::Baseline)
        for (const FieldSpec &field : runConfigFields()) // what means nothing there is no difference
            if (!field.perProcess && !appliesTo(field, out))
                (void)field.set(out, field.get(RunConfig()));
    return out;
}

/// The same work on fewer devices: loading and computing take as much longer, communication is as it was, or gone.
void addFewerDevices(const RunConfig &config, const TimeParts &parts, std::vector<std::string> devices, Tips &tips) {
    if (devices.empty() || devices.size() >= config.devices.size())
        return;
    const double more = double(config.devices.size()) / double(devices.size());
    const double left = (parts.loadS.value_or(0) + parts.computeS.value_or(0)) * more +
                        (devices.size() > 1 ? parts.communicationS.value_or(0) : 0) + std::max(0.0, parts.restS);
    const double lost = parts.communicationS.value_or(0) + parts.waitS.value_or(0);
    tips.add({"method", "devices"}, onDevices(config, std::move(devices)), parts.trainingS / left,
             "communication and waiting take " + tips.share(lost) +
                 " of training time, more than the devices left out give");
}

/// Twice the loading threads, two to begin with, or as many as have a core that trains nothing.
int moreWorkers(const RepeatGroup &group, const RunConfig &config) {
    const int wanted = config.workers == 0 ? 2 : std::min(2 * config.workers, 256);
    const auto cores = coresBesideDevices(group, config);
    return cores ? std::min(wanted, int(cores->size()) / processCount(config)) : wanted;
}

void addLoading(const RepeatGroup &group, const RunConfig &config, double loadS, Tips &tips) {
    const double gain = tips.without(loadS);
    const std::string why = "loading is " + tips.share(loadS);
    if (config.loader == "item") {
        RunConfig batch = config;
        batch.loader = "batch";
        tips.add({"loader"}, batch, gain, why + ", an image at a time");
    }
    if (const int workers = moreWorkers(group, config); config.loader != "device" && workers > config.workers) {
        RunConfig more = config;
        more.workers = workers;
        tips.add({"workers"}, more, gain, why + "; workers load during computing");
    }
    if (config.loader != "device" && config.device == "cuda") {
        RunConfig device = config;
        device.loader = "device";
        device.workers = 0;
        device.workerCores.clear();
        tips.add({"loader"}, device, gain, why + ", and on the device nothing is copied a step");
    }
}

void addBatch(const RunConfig &config, double seconds, const std::string &why, Tips &tips) {
    RunConfig larger = config;
    (larger.batchPerDevice > 0 ? larger.batchPerDevice : larger.batchSize) *= 2;
    tips.add({"batch_size"}, larger, tips.without(seconds / 2),
             why + "; half as many steps halve it (trains differently)");
}

/// Whether a bucket that was sent would be cut where this is the cap. One of a single tensor can't be, and the first bucket has a cap of
/// its own, so that under a larger one it stays as it is.
bool wouldBeCut(const BucketTime &sent, double capMb, double formerCapMb) {
    const double cap = sent.bucket == 0 ? std::min(firstBucketMb, capMb) : capMb;
    const double former = sent.bucket == 0 ? std::min(firstBucketMb, formerCapMb) : formerCapMb;
    const double capBytes = cap * 1024 * 1024;
    return former > cap && sent.count > 1 && double(sent.sizeBytes) > capBytes;
}

/// Whether the gradients would leave as they do now if the run had that configuration, which has smaller buckets.
bool keepsBuckets(const RepeatGroup &group, const RunConfig &config) {
    const RunOutcome &run = group.runs.front();
    if (!run.buckets.empty())
        return std::ranges::none_of(run.buckets, [&](const BucketTime &sent) {
            return wouldBeCut(sent, config.bucketMb, run.config->bucketMb);
        });
    const auto bytes = isScript(group) ? std::nullopt : gradientBytesOf(config);
    const double each = config.precision == "fp64" ? 2 : 1; // of fp32's bytes
    return bytes && *bytes * each <= std::min(firstBucketMb, config.bucketMb) * 1024 * 1024;
}

void addCommunication(const RepeatGroup &group, const RunConfig &config, const TimeParts &parts, Tips &tips) {
    const double seconds = *parts.communicationS;
    const std::string why = "communication is " + tips.share(seconds);
    if (knowsKey(config.method, "dp_replicas")) {
        RunConfig persistent = config;
        persistent.dpReplicas = "persistent";
        tips.add({"dp_replicas"}, persistent, tips.without(seconds), why + "; replicas that stay need no copying");
        RunConfig ddp = config;
        ddp.method = Method::Ddp;
        ddp.dpReplicas = RunConfig().dpReplicas;
        tips.add({"method"}, ddp, tips.without(seconds), why + "; DDP overlaps it with backward");
    } else {
        const Traffic traffic = specOf(config.method).traffic;
        if (traffic == Traffic::Server || traffic == Traffic::Push) {
            RunConfig ring = config;
            ring.method = Method::Ddp;
            tips.add({"method"}, ring, tips.without(seconds), why + "; an all-reduce avoids one rank's link");
        }
        RunConfig buckets = config;
        buckets.bucketMb = config.bucketMb > 1 ? 1 : config.bucketMb / 4;
        // what backward could hide, less the last bucket, which comes when it is over
        if (knowsKey(config.method, "bucket_mb") && !keepsBuckets(group, buckets))
            tips.add({"bucket_mb"}, buckets, tips.without(seconds * (1 - unhidden)),
                     why + "; smaller buckets leave during backward");
        if (knowsKey(config.method, "compress_gradients") && config.compressGradients == "none") {
            RunConfig half = config;
            half.compressGradients = "bf16";
            tips.add({"compress_gradients"}, half, tips.without(seconds * (1 - 2.0 / sentNumberBytes(config))),
                     why + "; bf16 sends fewer bytes (trains differently)");
        }
        if (config.backend == "gloo" && config.device == "cuda") {
            RunConfig direct = config;
            direct.backend = "auto";
            tips.add({"backend"}, direct, tips.without(seconds), why + "; NCCL bypasses the host");
        }
    }
    addBatch(config, seconds, why, tips);
}

/// A stage waits for the others while the pipeline fills and empties, which takes as long as a micro-batch's way through the other
/// stages: of twice as many micro-batches, half as long. The stage that waits least determines the step, so only its waiting counts.
void addMicroBatches(const RepeatGroup &group, const RunConfig &config, double trainingS, Tips &tips) {
    const std::map<int, double> waits = waitShares(group);
    if (waits.empty())
        return;
    RunConfig more = config;
    more.microBatches =
        int(std::min<std::int64_t>(2 * std::int64_t(config.microBatches),
                                   globalBatch(config) / std::max(1, batchParts(config, deviceCount(config)))));
    if (more.microBatches == config.microBatches)
        return;
    const double left = double(config.microBatches) / double(more.microBatches);
    const double leastS = trainingS * std::ranges::min(waits | std::views::values);
    tips.add({"micro_batches"}, more, tips.without(leastS * (1 - left)),
             "the stage that waits least waits for " + tips.share(leastS) +
                 " of training time; more micro-batches keep the pipeline full for longer");
}

void addShards(const RepeatGroup &group, const RunConfig &config, const TimeParts &parts, Tips &tips) {
    const auto even = evenSharesOf(group);
    if (!even)
        return;
    RunConfig uneven = config;
    uneven.shards = "measured";
    tips.add({"shards"}, uneven, tips.without(std::min(even->savesS, *parts.waitS)),
             "the slowest rank takes " + significant(even->slower).toStdString() +
                 " times as long for as many samples; with a smaller share, all would be ready together");
}

void addStraggler(const RepeatGroup &group, const RunConfig &config, const TimeParts &parts, Tips &tips) {
    const auto slow = slowRankOf(group, parts);
    const auto late = lateRankOf(group);
    if (slow)
        addShards(group, config, parts, tips);
    if (slow && slow->phase == phase::load)
        addLoading(group, config, *parts.waitS, tips);
    std::vector<std::string> without = config.devices;
    const std::vector<int> leftOut = slow ? slow->ranks : late ? std::vector<int>{*late} : std::vector<int>();
    if (!leftOut.empty() && std::size_t(leftOut.back()) < without.size() && leftOut.size() < without.size())
        for (const int rank : leftOut | std::views::reverse)
            without.erase(without.begin() + rank);
    else if (!without.empty())
        without.pop_back();
    addFewerDevices(config, parts, std::move(without), tips);
}

void addLaunch(const RunConfig &config, const TimeParts &parts, const Bottleneck &found, bool startsLate, Tips &tips) {
    if (startsLate) {
        RunConfig longer = config;
        longer.epochs = std::min(config.epochs * 4, 1'000'000);
        const double times = double(longer.epochs) / double(std::max(1, config.epochs));
        const double startS = *found.share * parts.runS;
        const double share = startS / (startS + times * (parts.runS - startS)); // tests are made after every epoch
        tips.addPlain({"epochs"}, longer,
                      "The start is " + percent(*found.share, 0).toStdString() + " of the run's time; with " +
                          std::to_string(longer.epochs) + " epochs it would be " + percent(share, 0).toStdString() +
                          ", so that training weighs more. No epoch gets faster.");
        return;
    }
    if (config.device == "cuda" && knowsKey(config.method, "cuda_graph") && !config.cudaGraph) {
        RunConfig graph = config;
        graph.cudaGraph = true;
        tips.add({"cuda_graph"}, graph, tips.without(*found.share * parts.trainingS),
                 "the time around kernels is " + tips.share(*found.share * parts.trainingS) +
                     ", and a CUDA graph launches a step's kernels at once");
    }
    addBatch(config, *found.share * parts.trainingS,
             "the time around kernels is " + tips.share(*found.share * parts.trainingS), tips);
    addFewerDevices(config, parts, {config.devices.front()}, tips);
}

/// Whether the run shows that its machine has so many devices of this kind, each with cores of its own.
bool showsDevices(const RunOutcome &run, const RunConfig &kind) {
    return run.config && run.config->device == kind.device && run.config->coresPerDevice == kind.coresPerDevice &&
           !run.oversubscribed && run.nodes <= 1;
}

/// More devices only where some other run shows that the machine has them.
void addCompute(const RunConfig &config, const TimeParts &parts, const MeasuredGroups &others, Tips &tips) {
    const double seconds = *parts.computeS;
    const std::string why = "computing is " + tips.share(seconds);
    std::vector<std::string> most = config.devices;
    for (const RepeatGroup &other : others.all())
        if (!other.runs.empty() && showsDevices(other.runs.front(), config) &&
            other.runs.front().config->devices.size() > most.size())
            most = other.runs.front().config->devices;
    if (config.nodes.empty() && most.size() > config.devices.size()) {
        RunConfig wide = config;
        wide.method = Method::Ddp;
        wide.devices = most;
        const double part = double(config.devices.size()) / double(most.size());
        tips.add({"method", "devices"}, wide, tips.without((seconds + *parts.loadS) * (1 - part)),
                 why + ", shared by " + std::to_string(most.size()) + " devices");
    }
    if (config.device == "cuda" && config.precision == "fp32") {
        RunConfig half = config;
        half.precision = "bf16";
        tips.add({"precision"}, half,
                 tips.without(seconds), // how much faster tensor cores multiply is no matter of bytes
                 why + "; bf16 moves half the bytes and uses tensor cores, if there are any (trains differently)");
    }
    if (!config.channelsLast && config.device == "cuda") {
        RunConfig last = config;
        last.channelsLast = true;
        tips.add({"channels_last"}, last, tips.without(seconds), why + "; some devices convolve faster in NHWC order");
    }
}

const RunOutcome &repeatInTheMiddle(const RepeatGroup &group) {
    std::vector<const RunOutcome *> runs;
    for (const RunOutcome &run : group.runs)
        runs.push_back(&run);
    std::ranges::sort(runs, {}, [](const RunOutcome *run) { return run->runTimeS.value_or(0); });
    return *runs[(runs.size() - 1) / 2];
}

/// The ranks whose own time lies nearer to the slowest's than a quarter of the way to the fastest's.
std::vector<int> asSlowAs(const RunOutcome &run, double slowest) {
    double fastest = slowest;
    for (const auto &[rank, phases] : run.rankPhasesS)
        fastest = std::min(fastest, ownTime(run, rank).value_or(slowest));
    std::vector<int> out;
    for (const auto &[rank, phases] : run.rankPhasesS)
        if (const auto own = ownTime(run, rank); own && *own >= slowest - asSlowWithin * (slowest - fastest))
            out.push_back(rank);
    return out;
}

} // namespace

std::optional<double> stepsOf(const RepeatGroup &group) {
    if (group.runs.empty() || !group.runs.front().config || group.runs.front().epochs.empty())
        return std::nullopt;
    const RunOutcome &run = group.runs.front();
    if (run.script) // the batch of its config is lockstep-trainer's
        return stepsMade(run);
    const double batch = double(std::max<std::int64_t>(1, globalBatch(*run.config)));
    double steps = 0;
    for (const MergedEpoch &epoch : run.epochs)
        steps += std::ceil(double(epoch.samples) / batch);
    return steps > 0 ? std::optional(steps) : std::nullopt;
}

std::optional<double> launchShare(const RepeatGroup &group) {
    std::vector<double> values;
    for (const RunOutcome &run : group.runs)
        if (run.launchS && run.runTimeS && *run.runTimeS > 0)
            values.push_back(*run.launchS / *run.runTimeS);
    return median(std::move(values));
}

std::optional<EvenShares> evenSharesOf(const RepeatGroup &group) {
    if (group.runs.empty() || !group.runs.front().config)
        return std::nullopt;
    const RunConfig &config = *group.runs.front().config;
    if (!knowsKey(config.method, "shards") || config.shards != "even" || anyGpu(config) || isScript(group))
        return std::nullopt;
    const RunOutcome &run = repeatInTheMiddle(group);
    std::vector<double> times;
    double speeds = 0;
    for (const auto &[rank, phases] : run.rankPhasesS)
        if (const auto own = ownTime(run, rank); own && *own > 0) {
            times.push_back(*own);
            speeds += 1 / *own;
        }
    if (times.size() < 2 || times.size() != run.rankPhasesS.size())
        return std::nullopt;
    const auto [fastest, slowest] = std::ranges::minmax(times);
    const double saves = slowest - double(times.size()) / speeds;
    return EvenShares{slowest / fastest, saves / slowest, saves};
}

std::optional<int> lateRankOf(const RepeatGroup &group) {
    std::optional<int> late;
    for (const RunOutcome &run : group.runs) {
        const auto one = waitedFor(run);
        if (!one || (late && late != one))
            return std::nullopt;
        late = one;
    }
    return late;
}

std::optional<SlowRank> slowRankOf(const RepeatGroup &group, const TimeParts &parts) {
    if (group.runs.empty())
        return std::nullopt;
    const RunOutcome &run = repeatInTheMiddle(group);
    std::optional<SlowRank> out;
    double most = 0;
    for (const auto &[rank, phases] : run.rankPhasesS)
        if (const auto own = ownTime(run, rank); own && *own > most) {
            most = *own;
            out = SlowRank{rank, {}, 0, {}};
        }
    const auto medianOfOthers = [&](auto get) {
        std::vector<double> values;
        for (const auto &[rank, phases] : run.rankPhasesS)
            if (std::ranges::find(out->ranks, rank) == out->ranks.end())
                values.push_back(get(rank));
        return median(std::move(values));
    };
    if (!out)
        return std::nullopt;
    out->ranks = asSlowAs(run, most);
    const auto others = medianOfOthers([&](int rank) { return ownTime(run, rank).value_or(0); });
    if (!others || *others <= 0 || most < slowFrom * *others)
        return std::nullopt;
    out->moreS = most - *others;
    const auto late = waitedFor(run);
    if (!late || std::ranges::find(out->ranks, *late) == out->ranks.end() ||
        out->moreS < explainsFrom * parts.waitS.value_or(0))
        return std::nullopt;
    double largest = 0;
    for (const std::string_view phase : {phase::load, phase::h2d, phase::forward, phase::backward, phase::optimizer}) {
        const double more = phaseOf(run, out->rank, phase) -
                            medianOfOthers([&](int rank) { return phaseOf(run, rank, phase); }).value_or(0);
        if (more > largest) {
            largest = more;
            out->phase = phase;
        }
    }
    return out;
}

std::vector<SuggestedRun> tipsFor(const RepeatGroup &group, const TimeParts &parts, const Bottleneck &found,
                                  const MeasuredGroups &others) {
    if (group.runs.empty() || !group.runs.front().config || found.bound == Bound::Unknown)
        return {};
    const RunConfig &config = *group.runs.front().config;
    Tips tips(group, parts, others);
    if (found.bound == Bound::Input)
        addLoading(group, config, *parts.loadS, tips);
    else if (found.bound == Bound::Communication) {
        addCommunication(group, config, parts, tips);
        addFewerDevices(config, parts, {config.devices.front()}, tips);
    } else if (found.bound == Bound::Bubble)
        addMicroBatches(group, config, parts.trainingS, tips);
    else if (found.bound == Bound::Straggler)
        addStraggler(group, config, parts, tips);
    else if (found.bound == Bound::Launch)
        addLaunch(config, parts, found, launchShare(group).value_or(0) > launchFrom, tips);
    else
        addCompute(config, parts, others, tips);
    return tips.take();
}

} // namespace lockstep::core
