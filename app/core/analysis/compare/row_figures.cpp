// SPDX-License-Identifier: MIT
#include "analysis/compare/row_figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_set>

#include "analysis/compare/energy.h"
#include "analysis/compare/judgement.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/compare/tested_accuracy.h"
#include "analysis/history/run_facts.h"
#include "base/format.h"
#include "ipc/median.h"
#include "ipc/model_facts.h"
#include "ipc/phase_sums.h"

namespace lockstep::core {
namespace {

bool isDone(const RunOutcome &outcome) {
    return outcome.state == RunState::Done && !outcome.agentDied;
}

template <class Get> std::optional<double> medianOf(const std::vector<const RunOutcome *> &runs, Get get) {
    std::vector<double> values;
    for (const RunOutcome *run : runs)
        if (const std::optional<double> value = get(*run))
            values.push_back(*value);
    return median(std::move(values));
}

std::vector<Repeat> timesOf(const std::vector<const RunOutcome *> &runs,
                            const std::function<std::optional<double>(const RunOutcome &)> &get) {
    std::vector<Repeat> out;
    for (const RunOutcome *run : runs)
        if (const std::optional<double> value = get(*run))
            out.push_back(repeatOf(*run, *value));
    return out;
}

std::optional<double> firstEpochS(const RunOutcome &run) {
    return !run.epochs.empty() && run.epochs.front().complete ? std::optional(run.epochs.front().durationS)
                                                              : std::nullopt;
}

MetricValues medians(const std::vector<const MetricValues *> &repeats) {
    std::map<std::string, std::vector<double>> values;
    for (const MetricValues *repeat : repeats)
        for (const auto &[name, value] : *repeat)
            values[name].push_back(value);
    MetricValues out;
    for (const auto &[name, found] : values)
        out.emplace(name, *median(found));
    return out;
}

/// The median of a figure that every repeat has of an epoch; unknown where one lacks it, of which the others say nothing.
template <class Get> std::optional<double> medianOfEach(const std::vector<const MergedEpoch *> &repeats, Get get) {
    std::vector<double> values;
    for (const MergedEpoch *repeat : repeats) {
        const auto value = get(*repeat);
        if (!value)
            return std::nullopt;
        values.push_back(double(*value));
    }
    return median(std::move(values));
}

/// Of the test after an epoch. Classes have no median of their own.
std::optional<EvalFrame> medianEval(const std::vector<const MergedEpoch *> &repeats) {
    const auto of = [&](auto get) {
        return medianOfEach(repeats, [get](const MergedEpoch &epoch) {
            return epoch.eval ? std::optional<double>(get(*epoch.eval)) : std::nullopt;
        });
    };
    const auto accuracy = of([](const EvalFrame &eval) { return eval.accuracy; });
    if (!accuracy)
        return std::nullopt;
    EvalFrame out;
    out.epoch = repeats.front()->epoch;
    out.accuracy = *accuracy;
    out.samples = std::llround(of([](const EvalFrame &eval) { return double(eval.samples); }).value_or(0));
    out.loss = of([](const EvalFrame &eval) { return eval.loss; });
    out.durationS = of([](const EvalFrame &eval) { return eval.durationS; });
    return out;
}

MergedEpoch medianEpoch(const std::vector<const MergedEpoch *> &repeats) {
    MergedEpoch out = *repeats.back();
    const auto whole = [](std::optional<double> value) {
        return value ? std::optional(std::int64_t(std::llround(*value))) : std::nullopt;
    };
    const auto of = [&](auto member) {
        return medianOfEach(repeats, [member](const MergedEpoch &epoch) { return std::optional(epoch.*member); });
    };
    out.durationS = of(&MergedEpoch::durationS).value_or(0);
    out.samples = whole(of(&MergedEpoch::samples)).value_or(0);
    out.loss = medianOfEach(repeats, [](const MergedEpoch &epoch) { return epoch.loss; });
    out.readyBatches = whole(medianOfEach(repeats, [](const MergedEpoch &epoch) { return epoch.readyBatches; }));
    out.eval = medianEval(repeats);
    std::vector<const MetricValues *> metrics;
    for (const MergedEpoch *repeat : repeats)
        metrics.push_back(&repeat->metrics);
    out.metrics = medians(metrics);
    return out;
}

/// Over the repeats that report any.
PhaseSeconds meanPhasesOf(const std::vector<const RunOutcome *> &runs) {
    std::vector<PhaseSeconds> repeats;
    for (const RunOutcome *run : runs)
        if (!run->phasesS.empty())
            repeats.push_back(run->phasesS);
    return repeats.empty() ? PhaseSeconds() : meanPhases(repeats);
}

/// A part is no repeat of a whole epoch.
void dropPartsBesideWholes(std::vector<const MergedEpoch *> &repeats) {
    if (!std::ranges::all_of(repeats, &MergedEpoch::part))
        std::erase_if(repeats, std::mem_fn(&MergedEpoch::part));
}

/// Each epoch's medians over the repeats that have done it.
std::vector<MergedEpoch> medianEpochs(const std::vector<const RunOutcome *> &runs) {
    std::map<int, std::vector<const MergedEpoch *>> repeats; // by epoch
    for (const RunOutcome *run : runs)
        for (const MergedEpoch &epoch : completeEpochs(run->epochs))
            repeats[epoch.epoch].push_back(&epoch);
    std::vector<MergedEpoch> out;
    for (auto &[epoch, done] : repeats) {
        dropPartsBesideWholes(done);
        out.push_back(medianEpoch(done));
    }
    return out;
}

/// Mean of means: each device over the epochs of all repeats, weighted by duration; mostRunDevices of them at most.
std::vector<DeviceUse> deviceUse(const std::vector<const RunOutcome *> &runs) {
    struct Sums {
        double use = 0, useS = 0, memory = 0, memoryS = 0;
        std::optional<double> useMax, memoryMax;
    };
    std::vector<std::string> order;
    std::map<std::string, Sums> sums;
    const auto larger = [](std::optional<double> a, std::optional<double> b) {
        return a && b ? std::optional(std::max(*a, *b)) : a ? a : b;
    };
    for (const RunOutcome *run : runs)
        for (const MergedEpoch &epoch : run->epochs)
            for (const DeviceUse &use : epoch.devices) {
                if (sums.size() >= mostRunDevices && !sums.contains(use.device))
                    continue;
                const auto [known, isNew] = sums.try_emplace(use.device);
                if (isNew)
                    order.push_back(use.device);
                Sums &sum = known->second;
                if (use.utilizationMean) {
                    sum.use += *use.utilizationMean * epoch.durationS;
                    sum.useS += epoch.durationS;
                }
                if (use.memoryMeanBytes) {
                    sum.memory += *use.memoryMeanBytes * epoch.durationS;
                    sum.memoryS += epoch.durationS;
                }
                sum.useMax = larger(sum.useMax, use.utilizationMax);
                sum.memoryMax = larger(sum.memoryMax, use.memoryMaxBytes);
            }
    std::vector<DeviceUse> out;
    for (const std::string &device : order) {
        const Sums &sum = sums[device];
        DeviceUse use;
        use.device = device;
        if (sum.useS > 0)
            use.utilizationMean = sum.use / sum.useS;
        if (sum.memoryS > 0)
            use.memoryMeanBytes = sum.memory / sum.memoryS;
        use.utilizationMax = sum.useMax;
        use.memoryMaxBytes = sum.memoryMax;
        out.push_back(std::move(use));
    }
    return out;
}

/// "cpu:0 97 %, cpu:1 95 %": of those that have such a figure, the first few by name.
template <class Text>
std::string byDevice(const std::vector<DeviceUse> &devices, std::optional<double> DeviceUse::*figure, Text text) {
    constexpr std::size_t mostNamed = 64;
    std::string out;
    std::size_t known = 0;
    for (const DeviceUse &use : devices)
        if (const std::optional<double> value = use.*figure; value && ++known <= mostNamed)
            out += (out.empty() ? "" : ", ") + use.device + " " + text(*value).toStdString();
    return known > mostNamed ? out + " and " + std::to_string(known - mostNamed) + " more" : out;
}

std::string useText(const std::vector<DeviceUse> &devices) {
    return byDevice(devices, &DeviceUse::utilizationMean, [](double share) { return percent(share, 0); });
}

std::string memoryText(const std::vector<DeviceUse> &devices) {
    return byDevice(devices, &DeviceUse::memoryMaxBytes, [](double size) { return bytes(size); });
}

/// Empty: the script did not say.
std::string saidBy(const RunOutcome &outcome, std::string_view key) {
    const auto said = outcome.about.find(key);
    return said == outcome.about.end() ? std::string() : said->second;
}

std::optional<int> workersSaidBy(const RunOutcome &outcome) {
    bool whole = false;
    const int workers = QString::fromStdString(saidBy(outcome, "workers")).toInt(&whole);
    return whole && workers >= 0 ? std::optional(workers) : std::nullopt;
}

} // namespace

void takeConfig(const RunConfig &config, ResultRow &row) {
    row.method = toString(config.method);
    row.devices = deviceCount(config);
    row.loader = config.loader;
    row.augment = config.augment;
    row.model = modelTitle(config.model);
    row.dataset = config.dataset;
    row.device = config.device;
    row.workers = config.workers;
    row.backend = isDistributed(config.method) ? config.backend : "";
}

void takeKnown(const ScriptClaims &claims, const RunOutcome *run, ResultRow &row) {
    const auto take = [&](std::string_view key, std::string &member) {
        if (!claims.knows(key))
            member = run ? saidBy(*run, key) : std::string();
    };
    take("loader", row.loader);
    take("augment", row.augment);
    take("model", row.model);
    take("dataset", row.dataset);
    if (!claims.knows("workers"))
        row.workers = run ? workersSaidBy(*run) : std::nullopt;
    if (!claims.knows("backend"))
        row.backend = run && isDistributed(row.method) ? saidBy(*run, "backend") : std::string();
    if (!claims.knows("device") && run)
        row.device = deviceKind(run->deviceNames);
}

void takeAbout(const RunOutcome &outcome, ResultRow &row) {
    row.method = saidBy(outcome, "method");
    row.loader = saidBy(outcome, "loader");
    row.augment = saidBy(outcome, "augment");
    row.model = saidBy(outcome, "model");
    row.dataset = saidBy(outcome, "dataset");
    if (const auto workers = workersSaidBy(outcome))
        row.workers = workers;
    row.device = deviceKind(outcome.deviceNames);
    row.devices = reportedDevices(row.method, outcome.processes, outcome.deviceNames.size());
    row.backend = isDistributed(row.method) ? outcome.backend : "";
}

void takeEpochFigures(ResultRow &row) {
    std::vector<double> later;
    for (const MergedEpoch &epoch : row.epochs) {
        if (epoch.epoch == 1)
            row.firstEpochS = epoch.durationS;
        else if (!epoch.part)
            later.push_back(epoch.durationS);
    }
    row.epochMedianS = median(std::move(later)); // absent: none
}

/// The figures of the repeats that are done; of a run still going, what it has so far.
void takeOutcomes(const std::vector<const RunOutcome *> &all, ResultRow &row) {
    std::vector<const RunOutcome *> runs;
    for (const RunOutcome *run : all)
        if (isDone(*run))
            runs.push_back(run);
    keepThoseThatTrained(runs);
    row.repeats = int(runs.size());
    if (runs.empty() && !all.empty())
        runs = {all.back()};
    if (runs.empty())
        return;
    row.firstEpoch = commonFirstEpoch(runs);
    row.spansFrames = commonSpan(runs);
    row.epochs = medianEpochs(runs);
    row.firstEpochS = geometricMeanOf(timesOf(runs, firstEpochS));
    row.epochMedianS = geometricMeanOf(timesOf(runs, laterEpochS));
    const auto training = [](const RunOutcome &run) { return run.totalTrainingTimeS; };
    const auto runTime = [](const RunOutcome &run) { return run.runTimeS; };
    if (isDone(*runs.front())) {
        for (const RunOutcome *run : runs)
            if (auto trained = trainingRepeatOf(*run))
                row.trainingTimes.push_back(*std::move(trained));
        row.runTimes = timesOf(runs, runTime);
    }
    row.totalTrainingTimeS = geometricMeanOf(timesOf(runs, training));
    row.runTimeS = geometricMeanOf(timesOf(runs, runTime));
    row.testAccuracy = medianOf(runs, [](const RunOutcome &r) { return r.testAccuracy; });
    row.finalLoss = medianOf(runs, [](const RunOutcome &r) { return r.finalLoss; });
    std::vector<const MetricValues *> metrics;
    for (const RunOutcome *run : runs)
        metrics.push_back(&run->metrics);
    row.metrics = medians(metrics);
    const RunOutcome *middle = runs.front(); // the run nearest the median speaks for what has no median
    for (const RunOutcome *run : runs)
        if (run->testAccuracy && row.testAccuracy && middle->testAccuracy &&
            std::fabs(*run->testAccuracy - *row.testAccuracy) < std::fabs(*middle->testAccuracy - *row.testAccuracy))
            middle = run;
    row.perClassAccuracy = middle->perClassAccuracy;
    row.classNames = middle->classNames;
    row.phasesS = meanPhasesOf(runs);
    row.hosts = middle->hosts.list();
    row.nodes = middle->nodes;
    if (!middle->backend.empty() && isDistributed(row.method))
        row.backend = middle->backend;
    row.energyGpusJ = medianOf(runs, gpusEnergyOf);
    row.energyPackagesJ = medianOf(runs, packagesEnergyOf);
    row.energyPerSampleJ = medianOf(runs, energyPerSampleOf);
    row.gpuHoursWaiting = medianOf(runs, gpuHoursWaitingOf);
    row.energyUnknown = row.energyPerSampleJ ? std::string() : whyEnergyUnknown(*middle);
    row.devicesUse = deviceUse(runs);
    row.utilisation = useText(row.devicesUse);
    row.memory = memoryText(row.devicesUse);
    std::unordered_set<std::string> noted(row.notes.begin(), row.notes.end());
    for (const RunOutcome *run : all)
        for (const std::string &contradiction : contradictions(*run))
            if (noted.insert(contradiction).second)
                row.notes.push_back(contradiction);
    for (const RunOutcome *run : runs)
        if (const std::string note = lastTestInWords(*run); !note.empty() && noted.insert(note).second)
            row.notes.push_back(note);
    for (const RunOutcome *run : all)
        if (!run->divergence.empty())
            row.notes.push_back("repeat " + std::to_string(run->repeat) + ": " + run->divergence);
    for (const RunOutcome *run : all)
        for (const std::string &warning : run->warnings)
            row.notes.push_back("repeat " + std::to_string(run->repeat) + ": " + warning);
    for (const RunOutcome *run : all)
        if (run->restarts > 0)
            row.notes.push_back("repeat " + std::to_string(run->repeat) + ": ranks failed and were started again " +
                                (run->restarts == 1 ? "once" : std::to_string(run->restarts) + " times"));
    for (const RunOutcome *run : all)
        if (run->oversubscribed) {
            row.notes.emplace_back("not comparable: oversubscribed");
            break;
        }
    for (const RunOutcome *run : all)
        if (run->unknown)
            row.notes.push_back("repeat " + std::to_string(run->repeat) + ": " + run->reason);
    for (const RunOutcome *run : all)
        if (run->agentDied || run->state == RunState::Failed) {
            row.failed.push_back({run->repeat, run->run, run->reason});
            row.notes.push_back("repeat " + std::to_string(run->repeat) + " failed: " + run->reason);
        }
}

void takePair(const PairJudgement &pair, ResultRow &row) {
    row.accuracyDifference = pair.accuracyDifference;
    row.lossDifference = pair.lossDifference;
    row.otherWork = pair.otherWork;
    if (pair.otherWork) {
        row.speedUpTraining.reset();
        row.speedUpRun.reset();
        return;
    }
    row.trainingInterval = pair.training;
    row.epochInterval = pair.epoch;
    row.runInterval = pair.wholeRun;
}

std::string rangeText(const std::optional<SpeedUp> &speedUp) {
    if (!speedUp || !speedUp->hasInterval())
        return {};
    return (factorText(speedUp->low) + u'-' + factorText(speedUp->high)).toStdString();
}

std::string withRange(std::optional<double> factor, const std::optional<SpeedUp> &speedUp) {
    const std::string range = factor ? rangeText(speedUp) : std::string();
    return factorText(factor).toStdString() + (range.empty() ? "" : " (" + range + ")");
}

std::string signedText(std::optional<double> difference) {
    if (!difference || *difference == 0 || std::isnan(*difference))
        return significant(difference).toStdString();
    return (*difference < 0 ? "−" : "+") + significant(std::fabs(*difference)).toStdString();
}

std::string pointsText(std::optional<double> difference) {
    if (!difference)
        return "-";
    const QString size = QString::number(std::fabs(*difference) * 100, 'f', 2);
    const std::string sign = size.toDouble() == 0 ? "" : *difference < 0 ? "−" : "+";
    return sign + size.toStdString();
}

std::vector<std::string> classHeadings(const ResultTable &table) {
    std::size_t classes = 0;
    const std::vector<std::string> *names = nullptr;
    bool alike = true;
    for (const ResultRow &row : table.rows) {
        classes = std::max(classes, row.perClassAccuracy.size());
        if (row.classNames.empty())
            continue;
        alike = alike && (!names || *names == row.classNames);
        names = &row.classNames;
    }
    if (names && alike && names->size() == classes)
        return *names;
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < classes; ++i)
        numbers.push_back(std::to_string(i));
    return numbers;
}

} // namespace lockstep::core
