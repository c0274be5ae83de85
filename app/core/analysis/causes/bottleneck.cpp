// SPDX-License-Identifier: MIT
#include "analysis/causes/bottleneck.h"

#include <algorithm>
#include <map>
#include <span>

#include "analysis/causes/bottleneck_tips.h"
#include "analysis/compare/result_table.h"
#include "base/format.h"
#include "experiment/run_names.h"
#include "ipc/median.h"

namespace lockstep::core {
namespace {

// bottleneck.h explains them.
constexpr double stragglerFrom = 0.10, inputFrom = 0.20, communicationFrom = 0.20, outsideFrom = 0.20,
                 computeFrom = 0.50, busyGpuFrom = 0.60; // and launchFrom
constexpr double roundingOfSums = 1e-12; ///< of a share: the order in which times are added decides nothing
constexpr double closeTo = 0.75;         ///< of its threshold: what is so near is named beside the bound

std::string share(double fraction) {
    return percent(fraction, 0).toStdString();
}
std::string milliseconds(double seconds) {
    return significant(seconds * 1e3).toStdString() + " ms";
}
std::string secondsText(double seconds) {
    return core::seconds(seconds).toStdString();
}

std::string loadText(double fraction) {
    return shareText(fraction, inputFrom);
}

template <class Get> std::optional<double> medianOver(const RepeatGroup &group, Get get) {
    std::vector<double> values;
    for (const RunOutcome &run : group.runs)
        if (const std::optional<double> value = get(run))
            values.push_back(*value);
    return median(std::move(values));
}

/// How much of training time a GPU has a kernel running, mean over devices and epochs; absent on CPUs.
std::optional<double> gpuBusy(const RepeatGroup &group) {
    return medianOver(group, [](const RunOutcome &run) -> std::optional<double> {
        if (!run.config || run.config->device != "cuda")
            return std::nullopt;
        double sum = 0, seconds = 0;
        for (const MergedEpoch &epoch : run.epochs)
            for (const DeviceUse &use : epoch.devices)
                if (use.utilizationMean) {
                    sum += *use.utilizationMean * epoch.durationS;
                    seconds += epoch.durationS;
                }
        return seconds > 0 ? std::optional(sum / seconds) : std::nullopt;
    });
}

std::string stepText(const RepeatGroup &group, double seconds) {
    const auto steps = stepsOf(group);
    return steps ? ", " + milliseconds(seconds / *steps) + " a step" : std::string();
}

/// A share of training time that bounds a run from a threshold on.
struct Wait {
    Bound bound;
    double share, from;
    [[nodiscard]] bool bounds() const { return share >= from - roundingOfSums; }
};

/// " Close behind: exposed communication, 19.9 %." Those beside the bound that are over their threshold, or near it.
std::string closeBehind(const Bottleneck &found, std::span<const Wait> waits) {
    std::string out;
    for (const Wait &wait : waits) {
        const bool isSaid =
            wait.bound == found.bound ||
            (wait.bound == Bound::Input && (found.bound == Bound::Compute || found.bound == Bound::Unknown));
        if (isSaid || wait.share < closeTo * wait.from)
            continue;
        const char *name = wait.bound == Bound::Straggler ? "waiting for slower ranks"
                           : wait.bound == Bound::Bubble  ? "stages waiting for each other"
                           : wait.bound == Bound::Input   ? "loading"
                                                          : "exposed communication";
        out += (out.empty() ? "" : "; ") + std::string(name) + ", " + shareText(wait.share, wait.from);
    }
    return out.empty() ? out : " Close behind: " + out + ".";
}

std::string ranksText(const std::vector<int> &ranks) {
    std::string out;
    for (std::size_t i = 0; i < ranks.size(); ++i)
        out += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
    return out;
}

std::string stragglerText(const RepeatGroup &group, const TimeParts &parts) {
    std::string out = "Waiting for slower ranks takes " + share(*parts.waitS / parts.trainingS) +
                      " of training time (" + secondsText(*parts.waitS) + stepText(group, *parts.waitS) + ")";
    const auto slow = slowRankOf(group, parts);
    const auto even = slow ? evenSharesOf(group) : std::nullopt;
    const std::string waste = even ? " Even shares of the batch waste " + share(even->wastes) +
                                         " of the slowest rank's own time, which is " +
                                         significant(even->slower).toStdString() + " times the fastest's."
                                   : std::string();
    if (slow && slow->ranks.size() > 1)
        return out + ": ranks " + ranksText(slow->ranks) + " spend up to " + secondsText(slow->moreS) +
               " more than the others, most of it in " + slow->phase + "." + waste;
    if (slow)
        return out + ": rank " + std::to_string(slow->rank) + " spends " + secondsText(slow->moreS) +
               " more than the others, most of it in " + slow->phase + "." + waste;
    if (const auto late = lateRankOf(group))
        return out + ": rank " + std::to_string(*late) + " is late, by time outside the phases that are told apart.";
    return out + (parts.waitFollows ? ": for another one in each repeat."
                                    : ": no one rank is slower by as much, they wait for each other in turn.");
}

/// "cpu:0 waits 2 %, cpu:1 64 %": the stages that wait least and most.
std::string unequalStages(const RepeatGroup &group) {
    const std::map<int, double> waits = waitShares(group);
    if (waits.size() < 2)
        return {};
    const auto [least, most] = std::ranges::minmax_element(waits, {}, [](const auto &one) { return one.second; });
    const std::vector<std::string> &devices = group.runs.front().deviceNames;
    const auto name = [&](int rank) {
        return std::size_t(rank) < devices.size() ? devices[std::size_t(rank)] : "stage " + std::to_string(rank + 1);
    };
    return ": " + name(least->first) + " waits " + share(least->second) + ", " + name(most->first) + ' ' +
           share(most->second);
}

std::string bubbleText(const RepeatGroup &group, const TimeParts &parts) {
    constexpr double noMoreWithin = 0.03; // of training time
    const RunConfig &config = *group.runs.front().config;
    const int stages = stageCount(config, deviceCount(config));
    const double waits = *parts.waitS / parts.trainingS, formula = bubbleOf(stages, config.microBatches);
    return "Stages of the pipeline wait for each other for " + share(waits) + " of training time on average (" +
           secondsText(*parts.waitS) + stepText(group, *parts.waitS) + "). Of " + std::to_string(stages) +
           " equally long stages with " + settingText(config, "micro_batches") + " it would be " + share(formula) +
           (waits > formula + noMoreWithin
                ? "; more comes from stages that take unequally long" + unequalStages(group) + '.'
                : ".");
}

/// Of the repeat that came nearest to having parts.
std::string whyWithoutParts(const RepeatGroup &group) {
    const std::string nothing = whyNoParts(RunOutcome());
    for (const RunOutcome &run : group.runs)
        if (std::string why = whyNoParts(run); why != nothing)
            return why;
    return nothing;
}

bool isPipeline(const RepeatGroup &group) {
    return !group.runs.empty() && group.runs.front().config && specOf(group.runs.front().config->method).splitsModel;
}

void takeLaunch(const RepeatGroup &group, const TimeParts &parts, Bottleneck &out) {
    const auto launch = launchShare(group), busy = gpuBusy(group);
    const double outside = parts.restS / parts.trainingS;
    if (launch && *launch > launchFrom) {
        out.bound = Bound::Launch;
        out.share = launch;
        out.evidence = share(*launch) + " of the run passes before a rank trains (" +
                       secondsText(*launch * parts.runS) + " of " + secondsText(parts.runS) +
                       "): the run is too short for its start.";
    } else if (busy && *busy < busyGpuFrom) {
        out.bound = Bound::Launch;
        out.share = 1 - *busy;
        out.evidence = "The GPUs have a kernel running in " + share(*busy) +
                       " of training time and wait neither for data nor for each other: kernels are too short for the "
                       "host that launches them.";
    } else if (outside >= outsideFrom) {
        out.bound = Bound::Launch;
        out.share = outside;
        out.evidence = share(outside) + " of training time (" + secondsText(parts.restS) +
                       stepText(group, parts.restS) +
                       ") is outside every phase of a step: the loop around the steps takes it.";
    }
}

} // namespace

std::string_view toString(Bound bound) {
    switch (bound) {
    case Bound::Input:
        return "input-bound";
    case Bound::Compute:
        return "compute-bound";
    case Bound::Communication:
        return "communication-bound";
    case Bound::Launch:
        return "launch-bound";
    case Bound::Straggler:
        return "straggler-bound";
    case Bound::Bubble:
        return "bubble-bound";
    case Bound::Unknown:
        break;
    }
    return "unknown";
}

std::string_view meaningOf(Bound bound) {
    switch (bound) {
    case Bound::Input:
        return "at least 20 % of training time goes into loading: the devices wait for data";
    case Bound::Compute:
        return "at least half of training time goes into computing and nothing else holds it up: only faster or more "
               "devices help";
    case Bound::Communication:
        return "at least 20 % of training time is communication that hides behind nothing";
    case Bound::Launch:
        return "time goes into getting work started: the run's start, the host that launches kernels, or the loop "
               "around steps";
    case Bound::Straggler:
        return "ranks wait at least 10 % of training time for slower ones";
    case Bound::Bubble:
        return "stages of the pipeline wait at least 10 % of training time for each other";
    case Bound::Unknown:
        break;
    }
    return "nothing dominates, or too little was measured";
}

std::string shareText(double share, double threshold) {
    int digits = 0;
    while (digits < 4 && share < threshold && percent(share, digits) == percent(threshold, digits))
        ++digits;
    return percent(share, digits).toStdString();
}

Bottleneck bottleneckOf(const RepeatGroup &group, const MeasuredGroups &others) {
    Bottleneck out;
    out.run = group.name;
    const auto parts = partsOf(group);
    if (!parts || !parts->loadS || !parts->computeS) {
        out.evidence = !parts          ? "Unknown: " + whyWithoutParts(group) + '.'
                       : !parts->loadS ? "Unknown: it reported no phase for loading."
                                       : "Unknown: it reported no phase for computing.";
        return out;
    }
    const double training = parts->trainingS;
    const Bound waiting = isPipeline(group) ? Bound::Bubble : Bound::Straggler;
    const Wait waits[] = {{waiting, parts->waitS.value_or(0) / training, stragglerFrom},
                          {Bound::Input, *parts->loadS / training, inputFrom},
                          {Bound::Communication, parts->communicationS.value_or(0) / training, communicationFrom}};
    for (const auto &one : waits)
        if (one.bounds() && one.share > out.share.value_or(0)) {
            out.bound = one.bound;
            out.share = one.share;
        }
    if (out.bound == Bound::Straggler)
        out.evidence = stragglerText(group, *parts);
    else if (out.bound == Bound::Bubble)
        out.evidence = bubbleText(group, *parts);
    else if (out.bound == Bound::Input)
        out.evidence = "Loading takes " + share(*out.share) + " of training (" + secondsText(*parts->loadS) +
                       stepText(group, *parts->loadS) + "), computing " + share(*parts->computeS / training) + ".";
    else if (out.bound == Bound::Communication)
        out.evidence = "Exposed communication takes " + share(*out.share) + " of training (" +
                       secondsText(*parts->communicationS) + stepText(group, *parts->communicationS) + "), computing " +
                       share(*parts->computeS / training) +
                       (!parts->waitS        ? "; waiting for slower ranks is in it."
                        : parts->waitFollows ? "; waiting in turn is in it."
                                             : ".");
    else
        takeLaunch(group, *parts, out);
    if (out.bound == Bound::Unknown && *parts->computeS / training >= computeFrom) {
        out.bound = Bound::Compute;
        out.share = *parts->computeS / training;
        out.evidence = "Computing " + share(*out.share) + " of training (" + secondsText(*parts->computeS) +
                       stepText(group, *parts->computeS) + "), loading " + loadText(*parts->loadS / training) + ".";
    }
    if (out.bound == Bound::Unknown)
        out.evidence = "Unknown: nothing dominates (loading " + loadText(*parts->loadS / training) + ", computing " +
                       share(*parts->computeS / training) + ").";
    out.evidence += closeBehind(out, waits);
    out.tips = tipsFor(group, *parts, out, others);
    return out;
}

} // namespace lockstep::core
