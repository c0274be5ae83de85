// SPDX-License-Identifier: MIT
#include "analysis/causes/dp_anatomy.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "analysis/causes/median_repeat.h"
#include "store/run_store.h"

namespace lockstep::core {
namespace {

std::vector<DpStage> stagesOf(const RunStore &store, bool persistent) {
    const std::int64_t steps = store.phases().steps(0);
    const PhaseTimes phases = store.phases().of(0);
    std::vector<DpStage> out;
    if (steps <= 0 || !phases.contains(phase::parallelForward))
        return out;
    for (const std::string_view name :
         {phase::load, phase::h2d, phase::scatter, phase::replicate, phase::parallelForward, phase::gather,
          phase::lossOnDevice0, phase::parallelBackward, phase::reduce, phase::optimizer, phase::other})
        if (const auto found = phases.find(name); found != phases.end())
            out.push_back({std::string(name), found->second.sumS / double(steps),
                           name == phase::parallelForward || name == phase::parallelBackward ||
                               (persistent && name == phase::optimizer)});
    return out;
}

/// A script may say that it is data parallel without a configuration: then they are made in each step, as PyTorch's DataParallel does.
bool replicasPersist(const RunStore &store) {
    const auto &record = store.record();
    return record && record->config && record->config->dpReplicas == "persistent";
}

/// The utilisation of each device that has any, mean over epochs.
std::map<std::string_view, double> meanUses(const RunStore &store) {
    std::map<std::string_view, std::pair<double, int>> sums;
    for (const MergedEpoch &epoch : store.epochs().merged())
        for (const DeviceUse &use : epoch.devices)
            if (use.utilizationMean) {
                auto &[sum, epochs] = sums[use.device];
                sum += *use.utilizationMean;
                ++epochs;
            }
    std::map<std::string_view, double> means;
    for (const auto &[device, sum] : sums)
        means.emplace(device, sum.first / sum.second);
    return means;
}

std::optional<double> useOf(const std::string &device, const std::map<std::string_view, double> &means) {
    const auto found = means.find(device);
    return found == means.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, double, std::less<>> ownTimes(const RunStore &store, const std::string &device) {
    std::map<std::string, double, std::less<>> out;
    for (const ReplicaTime &replica : store.phases().replicas())
        if (replica.device == device && store.phases().replicaSteps() > 0)
            for (const auto &[name, time] : replica.phases)
                out.emplace(name, time.sumS / double(store.phases().replicaSteps()));
    return out;
}

/// Of equal parts of a batch, on ranks that train; the stages of a pipeline share one part. What a script's ranks serve and which stages they
/// have is unknown.
std::optional<double> evenShareOf(const RunStore &store, std::size_t ranks) {
    const auto &record = store.record();
    if (record && record->config && !isScript(*record)) {
        const int parts = batchParts(*record->config, deviceCount(*record->config));
        return parts > 0 ? std::optional(1.0 / parts) : std::nullopt;
    }
    const MethodSpec *method = findMethod(store.identity().method().toStdString());
    return ranks == 0 || !method || method->splitsModel || knowsKey(method->id, "server_devices")
               ? std::nullopt
               : std::optional(1.0 / double(ranks));
}

/// Each rank's part of a batch.
struct BatchShares {
    std::optional<double> each; ///< where it is not in `byRank`; absent: unknown
    std::map<int, double>
        byRank; ///< where they follow the ranks' speed, and of ranks that only serve parameters: nothing
    [[nodiscard]] std::optional<double> of(int rank) const {
        const auto own = byRank.find(rank);
        return own == byRank.end() ? each : std::optional(own->second);
    }
};

BatchShares evenShares(const RunStore &store, std::size_t ranks) {
    BatchShares out{evenShareOf(store, ranks), {}};
    const auto &record = store.record();
    if (!record || !record->config || isScript(*record))
        return out;
    const int devices = deviceCount(*record->config);
    for (const auto &[rank, info] : store.ranks().all())
        if (onlyServes(*record->config, rank, devices))
            out.byRank[rank] = 0;
    return out;
}

/// As much as each other's that trains; where shares follow the ranks' speed, its part of the samples of the newest epoch that all have
/// reported.
BatchShares sharesOf(const RunStore &store, std::size_t ranks) {
    const auto &record = store.record();
    const bool uneven = record && record->config && knowsKey(record->config->method, "shards") &&
                        record->config->shards != RunConfig().shards;
    if (!uneven)
        return evenShares(store, ranks);
    BatchShares out;
    std::map<int, std::map<int, std::int64_t>> samples; // by epoch, then rank
    for (const RankEpoch &one : store.epochs().ofRanks())
        samples[one.frame.epoch][one.rank] = one.frame.samples;
    for (auto epoch = samples.rbegin(); epoch != samples.rend(); ++epoch) {
        std::int64_t all = 0;
        for (const auto &[of, count] : epoch->second)
            all += count;
        if (epoch->second.size() != ranks || all <= 0)
            continue;
        for (const auto &[rank, own] : epoch->second)
            out.byRank[rank] = double(own) / double(all);
        break;
    }
    return out;
}

/// Of a rank of DDP.
std::vector<DpStage> stagesOfRank(const RunStore &store, int rank) {
    const std::int64_t steps = store.phases().steps(rank);
    const PhaseTimes phases = store.phases().of(rank);
    std::vector<DpStage> out;
    const auto perStep = [&](std::string_view name) {
        const auto found = phases.find(name);
        return found == phases.end() || steps <= 0 ? std::nullopt : std::optional(found->second.sumS / double(steps));
    };
    for (const std::string_view name : additivePhases())
        if (auto seconds = perStep(name)) {
            if (name == phase::exposed)
                if (const auto wait = perStep(phase::wait); wait && *wait <= *seconds) {
                    out.push_back({std::string(phase::wait), *wait, false});
                    *seconds -= *wait;
                }
            out.push_back({std::string(name), *seconds, false});
        }
    return out;
}

} // namespace

std::optional<DpAnatomy> dpAnatomy(const RunStore &store) {
    const MethodSpec *method = findMethod(store.identity().method().toStdString());
    if (!method || !hasReplicas(*method))
        return std::nullopt;
    DpAnatomy out;
    out.stages = stagesOf(store, replicasPersist(store));
    if (out.stages.empty())
        return std::nullopt;
    for (const DpStage &stage : out.stages) {
        out.stepS += stage.seconds;
        out.parallelS += stage.everyDevice ? stage.seconds : 0;
    }
    std::vector<std::int64_t> samples;
    if (const auto rank = store.ranks().all().find(0); rank != store.ranks().all().end())
        samples = rank->second.replicaBatch;
    const auto batch = double(std::accumulate(samples.begin(), samples.end(), std::int64_t(0)));
    const std::vector<std::string> names = store.devices().names();
    const std::map<std::string_view, double> uses = meanUses(store);
    for (std::size_t i = 0; i < names.size(); ++i) {
        DpDevice device{names[i], {}, {}, ownTimes(store, names[i]), useOf(names[i], uses)};
        if (i < samples.size() && batch > 0) {
            device.samples = samples[i];
            device.share = double(samples[i]) / batch;
        }
        out.devices.push_back(std::move(device));
    }
    return out;
}

std::map<int, DpAnatomy> ddpAnatomies(const RunStore &store) {
    std::map<int, DpAnatomy> out;
    if (!isDistributed(store.identity().method().toStdString()))
        return out;
    const std::vector<std::string> names = store.devices().names();
    const std::map<std::string_view, double> uses = meanUses(store);
    const BatchShares shares = sharesOf(store, names.size());
    for (const auto &[rank, info] : store.ranks().all()) {
        std::vector<DpStage> stages = stagesOfRank(store, rank);
        if (stages.empty())
            continue;
        DpAnatomy &step = out[rank];
        for (const DpStage &stage : stages)
            step.stepS += stage.seconds;
        step.stages = std::move(stages);
        step.parallelS = step.stepS;
        DpDevice device;
        device.device = rank < int(names.size()) ? names[std::size_t(rank)] : "rank " + std::to_string(rank);
        device.share = shares.of(rank);
        device.utilization = useOf(device.device, uses);
        step.devices = {std::move(device)};
    }
    return out;
}

std::vector<StepAnatomy> stepAnatomies(const ResultTable &table, const std::vector<const RunStore *> &runs) {
    std::vector<std::pair<RowRepeat, std::optional<DpAnatomy>>> drawn;
    for (const RowRepeat &row : medianRepeats(table, runs))
        drawn.emplace_back(row, dpAnatomy(*row.run));
    std::vector<StepAnatomy> out;
    if (std::ranges::none_of(drawn, [](const auto &row) { return row.second.has_value(); }))
        return out;
    for (auto &[row, whole] : drawn) {
        StepAnatomy one{row.name, row.run->identity().method().toStdString(), {}, row.repeat, row.repeats};
        if (whole) {
            one.anatomy = std::move(*whole);
            out.push_back(one);
        }
        for (auto &[rank, step] : ddpAnatomies(*row.run)) {
            one.anatomy = std::move(step);
            out.push_back(one);
            one.name.clear(); // of its further ranks
        }
    }
    return out;
}

} // namespace lockstep::core
