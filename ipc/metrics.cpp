// SPDX-License-Identifier: MIT
#include "ipc/metrics.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

namespace {

std::size_t placeOf(std::string_view name) {
    const auto all = metrics();
    return std::size_t(std::find_if(all.begin(), all.end(), [&](const MetricSpec &spec) { return spec.name == name; }) -
                       all.begin());
}

Scalars withDerived(Scalars scalars, const StepTotals &totals) {
    for (const MetricSpec &spec : metrics())
        if (spec.derived && scalars.size() < maxScalars && !scalars.contains(spec.name))
            if (const auto window = spec.derived(totals))
                scalars.emplace(spec.name, *window);
    return scalars;
}

std::optional<ScalarWindow> samplesPerSecond(const StepTotals &totals) {
    if (!(totals.durationS > 0) || totals.samples <= 0)
        return std::nullopt;
    const auto samples = static_cast<double>(totals.samples);
    const double rate = samples / totals.durationS;
    return ScalarWindow{samples, totals.durationS, rate, rate, rate};
}

std::optional<ScalarWindow> stepTime(const StepTotals &totals) {
    if (!(totals.durationS > 0) || totals.steps <= 0)
        return std::nullopt;
    const auto steps = static_cast<double>(totals.steps);
    const double milliseconds = totals.durationS * 1e3, mean = milliseconds / steps;
    return ScalarWindow{milliseconds, steps, mean, mean, mean};
}

} // namespace

/// To add one: add its row here, and measure it in trainer/engine/training.cpp unless it can be derived.
std::span<const MetricSpec> metrics() {
    static const MetricSpec all[] = {
        MetricSpec{.name = "grad_norm",
                   .title = "Gradient norm",
                   .help = "Length of the gradient that the optimizer uses, the mean of all ranks' (ps-async: of rank "
                           "0's own); on GPUs of one "
                           "step in each window of about 100 ms.",
                   .overRanks = OverRanks::First},
        MetricSpec{.name = "lr",
                   .title = "Current learning rate",
                   .help = "What the optimizer's last step used, after the rule for several devices.",
                   .overRanks = OverRanks::First,
                   .overSteps = OverSteps::Last},
        MetricSpec{.name = "samples_per_s",
                   .title = "Training speed",
                   .unit = "samples/s",
                   .help = "Training samples of all ranks a second; of an epoch and of the run by the longest "
                           "rank's time. Evaluation left out.",
                   .better = Better::Higher,
                   .overRanks = OverRanks::Sum,
                   .overSteps = OverSteps::Rate,
                   .derived = samplesPerSecond},
        MetricSpec{
            .name = "received_mb",
            .title = "Received",
            .unit = "MB/step",
            .help =
                "Megabytes (10^6) that a rank receives from other ranks in a step, by the kernel's count of its TCP "
                "connections; of the rank that receives most. CPU devices only.",
            .better = Better::Lower,
            .overRanks = OverRanks::Max},
        MetricSpec{.name = "sent_mb",
                   .title = "Sent",
                   .unit = "MB/step",
                   .help = "Megabytes (10^6) that a rank sends to other ranks in a step, by the kernel's count of its "
                           "TCP connections; "
                           "of the rank that sends most. CPU devices only.",
                   .better = Better::Lower,
                   .overRanks = OverRanks::Max},
        MetricSpec{.name = "bubble",
                   .title = "Pipeline bubble",
                   .help = "Part of its forward, backward and waiting time in which a stage of a pipeline has nothing "
                           "to do; the mean "
                           "of all stages, with the least and the most.",
                   .better = Better::Lower},
        MetricSpec{.name = "shard_samples",
                   .title = "Largest shard",
                   .unit = "samples",
                   .help =
                       "A rank's share of a batch where shards follow the ranks' speed; of the rank that takes most.",
                   .overRanks = OverRanks::Max,
                   .overSteps = OverSteps::Last},
        MetricSpec{
            .name = "staleness",
            .title = "Staleness",
            .unit = "updates",
            .help = "Updates of other ranks between a rank's reading of the parameters and its own update of them; the "
                    "mean of all updates, with the least and the most.",
            .better = Better::Lower},
        MetricSpec{.name = "step_ms",
                   .title = "Step time",
                   .unit = "ms",
                   .help = "Time of a training step, all its phases, on the slowest rank; evaluation left out.",
                   .better = Better::Lower,
                   .overRanks = OverRanks::Max,
                   .derived = stepTime},
    };
    return all;
}

std::string MetricSpec::head() const {
    return unit.empty() ? title : title + " (" + unit + ")";
}

bool isRegistered(std::string_view name) {
    return placeOf(name) < metrics().size();
}

MetricSpec metricSpec(std::string_view name) {
    if (const std::size_t place = placeOf(name); place < metrics().size())
        return metrics()[place];
    MetricSpec invented;
    invented.name = invented.title = name;
    invented.help = "Reported by the script: the mean over ranks and over the steps of an epoch.";
    return invented;
}

bool metricBefore(std::string_view a, std::string_view b) {
    const std::size_t placeA = placeOf(a), placeB = placeOf(b);
    return placeA != placeB ? placeA < placeB : a < b;
}

Scalars scalarsOf(const StepsFrame &frame) {
    StepTotals totals{frame.samples, frame.count, 0};
    for (const std::string_view phase : additivePhases())
        if (const auto time = frame.phases.find(phase); time != frame.phases.end())
            totals.durationS += time->second.sumS;
    return withDerived(frame.scalars, totals);
}

Scalars scalarsOf(const EpochFrame &frame) {
    return withDerived(frame.scalars, {frame.samples, frame.steps, frame.durationS});
}

double valueOf(const MetricSpec &spec, const ScalarWindow &window) {
    switch (spec.overSteps) {
    case OverSteps::Mean:
    case OverSteps::Rate:
        return window.mean();
    case OverSteps::Last:
        return window.last;
    case OverSteps::Max:
        return window.max;
    }
    return window.mean();
}

ScalarWindow overRanks(const MetricSpec &spec, std::span<const ScalarWindow> ranks) {
    ScalarWindow out = ranks.front();
    out.sum = valueOf(spec, out);
    double weight = out.weight;
    for (const ScalarWindow &rank : ranks.subspan(1)) {
        const double value = valueOf(spec, rank);
        switch (spec.overRanks) {
        case OverRanks::First:
            continue;
        case OverRanks::Mean: // weighted, so that a rank with fewer steps counts less
            out.sum = (out.sum * weight + value * rank.weight) / (weight + rank.weight);
            break;
        case OverRanks::Sum:
            out.sum += value;
            break;
        case OverRanks::Max:
            out.sum = greaterOrNan(out.sum, value);
            break;
        }
        weight += rank.weight;
        const bool added = spec.overRanks == OverRanks::Sum;
        out.min = added ? out.min + rank.min : lesserOrNan(out.min, rank.min);
        out.max = added ? out.max + rank.max : greaterOrNan(out.max, rank.max);
    }
    out.weight = 1;
    out.last = out.sum;
    return out;
}

} // namespace lockstep
