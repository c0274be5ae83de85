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

/// Of equal parts of a batch: nothing on a rank that only serves parameters; the stages of a pipeline share one part. What a script's
/// ranks serve and which stages they have is unknown.
std::optional<double> evenShareOf(const RunStore &store, int rank) {
    const auto &record = store.record();
    if (record && record->config && !isScript(*record)) {
        const RunConfig &config = *record->config;
        const int devices = deviceCount(config), parts = batchParts(config, devices);
        return onlyServes(config, rank, devices) ? std::optional(0.0)
               : parts > 0                       ? std::optional(1.0 / parts)
                                                 : std::nullopt;
    }
    const MethodSpec *method = findMethod(store.identity().method().toStdString());
    const std::size_t ranks = store.devices().names().size();
    return ranks == 0 || !method || method->splitsModel || knowsKey(method->id, "server_devices")
               ? std::nullopt
               : std::optional(1.0 / double(ranks));
}

/// A rank's part of a batch: as much as each other's that trains; where shares follow the ranks' speed, its part of the samples of the newest
/// epoch that all have reported.
std::optional<double> shareOf(const RunStore &store, int rank) {
    const std::size_t ranks = store.devices().names().size();
    const auto &record = store.record();
    const bool uneven = record && record->config && knowsKey(record->config->method, "shards") &&
                        record->config->shards != RunConfig().shards;
    if (!uneven)
        return evenShareOf(store, rank);
    std::map<int, std::map<int, std::int64_t>> samples; // by epoch, then rank
    for (const RankEpoch &one : store.epochs().ofRanks())
        samples[one.frame.epoch][one.rank] = one.frame.samples;
    for (auto epoch = samples.rbegin(); epoch != samples.rend(); ++epoch) {
        std::int64_t all = 0;
        for (const auto &[of, count] : epoch->second)
            all += count;
        if (const auto own = epoch->second.find(rank);
            epoch->second.size() == ranks && own != epoch->second.end() && all > 0)
            return double(own->second) / double(all);
    }
    return std::nullopt;
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

std::optional<DpAnatomy> ddpAnatomy(const RunStore &store, int rank) {
    if (!isDistributed(store.identity().method().toStdString()))
        return std::nullopt;
    const std::int64_t steps = store.phases().steps(rank);
    const PhaseTimes phases = store.phases().of(rank);
    DpAnatomy out;
    const auto perStep = [&](std::string_view name) {
        const auto found = phases.find(name);
        return found == phases.end() || steps <= 0 ? std::nullopt : std::optional(found->second.sumS / double(steps));
    };
    for (const std::string_view name : additivePhases())
        if (auto seconds = perStep(name)) {
            if (name == phase::exposed)
                if (const auto wait = perStep(phase::wait); wait && *wait <= *seconds) {
                    out.stages.push_back({std::string(phase::wait), *wait, false});
                    *seconds -= *wait;
                }
            out.stages.push_back({std::string(name), *seconds, false});
        }
    if (out.stages.empty())
        return std::nullopt;
    for (const DpStage &stage : out.stages)
        out.stepS += stage.seconds;
    out.parallelS = out.stepS;
    const std::vector<std::string> names = store.devices().names();
    DpDevice device;
    device.device = rank < int(names.size()) ? names[std::size_t(rank)] : "rank " + std::to_string(rank);
    device.share = shareOf(store, rank);
    device.utilization = useOf(device.device, meanUses(store));
    out.devices = {device};
    return out;
}

std::vector<StepAnatomy> stepAnatomies(const ResultTable &table, const std::vector<const RunStore *> &runs) {
    std::vector<StepAnatomy> out;
    bool any = false;
    for (const auto &[name, run, repeat, repeats] : medianRepeats(table, runs)) {
        StepAnatomy one{name, run->identity().method().toStdString(), {}, repeat, repeats};
        if (auto whole = dpAnatomy(*run)) {
            any = true;
            one.anatomy = std::move(*whole);
            out.push_back(one);
        }
        for (const auto &[rank, info] : run->ranks().all())
            if (auto steps = ddpAnatomy(*run, rank)) {
                one.anatomy = std::move(*steps);
                out.push_back(one);
                one.name.clear(); // of its further ranks
            }
    }
    return any ? out : std::vector<StepAnatomy>();
}

} // namespace lockstep::core
