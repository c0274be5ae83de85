// SPDX-License-Identifier: MIT
#include "analysis/compare/tested_accuracy.h"

#include <algorithm>
#include <cstddef>

namespace lockstep::core {
namespace {

std::optional<double> accuracyAfter(const RunOutcome &run, int epoch) {
    const auto place = std::size_t(epoch - 1); // there are no gaps
    return place < run.epochs.size() && run.epochs[place].eval ? std::optional(run.epochs[place].eval->accuracy)
                                                               : std::nullopt;
}

bool isEachTestedAfter(const RepeatGroup &group, int epoch) {
    return std::ranges::all_of(
        group.runs, [&](const RunOutcome &run) { return !run.testAccuracy || accuracyAfter(run, epoch).has_value(); });
}

/// The last epoch after which every repeat of both was tested.
std::optional<int> lastCommonTest(const RepeatGroup &reference, const RepeatGroup &run) {
    const auto one =
        std::ranges::find_if(reference.runs, [](const RunOutcome &each) { return each.testAccuracy.has_value(); });
    for (int epoch = one == reference.runs.end() ? 0 : int(one->epochs.size()); epoch > 0; --epoch)
        if (isEachTestedAfter(reference, epoch) && isEachTestedAfter(run, epoch))
            return epoch;
    return std::nullopt;
}

bool isTestedAtTheEnd(const RepeatGroup &group) {
    return std::ranges::none_of(group.runs,
                                [](const RunOutcome &run) { return run.testAccuracy && run.accuracyEpoch; });
}

} // namespace

ComparedAccuracies comparedAccuracies(const RepeatGroup &reference, const RepeatGroup &run) {
    const auto atEnd = [](const RunOutcome &one) { return one.testAccuracy; };
    if (isTestedAtTheEnd(reference) && isTestedAtTheEnd(run))
        return {figuresOf(reference, atEnd), figuresOf(run, atEnd), {}};
    const std::optional<int> epoch = lastCommonTest(reference, run);
    if (!epoch)
        return {};
    const auto there = [&](const RunOutcome &one) {
        return one.testAccuracy ? accuracyAfter(one, *epoch) : std::nullopt;
    };
    return {figuresOf(reference, there), figuresOf(run, there), epoch};
}

std::string lastTestInWords(const RunOutcome &run) {
    if (!run.testAccuracy || !run.accuracyEpoch || run.epochs.empty())
        return {};
    return "test accuracy is that of epoch " + std::to_string(*run.accuracyEpoch) + " of " +
           std::to_string(run.epochs.back().epoch) + ", the last one that was tested";
}

} // namespace lockstep::core
