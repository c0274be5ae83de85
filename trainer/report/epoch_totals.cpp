// SPDX-License-Identifier: MIT
#include "trainer/report/epoch_totals.h"

#include <algorithm>

#include "ipc/sound_values.h"

namespace lockstep::trainer {

void EpochTotals::add(const EpochTotals &other) {
    lossSum += other.lossSum;
    samples += other.samples;
    leftOut += other.leftOut;
    steps += other.steps;
    durationS += other.durationS;
    phases.merge(other.phases);
}

std::vector<double> EpochTotals::toNumbers() const {
    std::vector<double> values{lossSum, static_cast<double>(samples), static_cast<double>(steps), durationS};
    const auto times = phases.toNumbers();
    values.insert(values.end(), times.begin(), times.end());
    return values;
}

bool EpochTotals::canBe(std::span<const double> values) {
    const auto within = [](double value, double most) { return value >= 0 && value <= most; }; // and no NaN
    const bool times =
        values.size() < numbers || std::ranges::all_of(values.subspan(4, PhaseTotals::numbers), [&](double ns) {
            return ns == -1 || within(ns, static_cast<double>(latestMonoNs)); // -1: not measured
        });
    return times && (values.size() < 4 ||
                     (within(values[1], mostCounted) && within(values[2], mostCounted) && isDuration(values[3])));
}

EpochTotals EpochTotals::fromNumbers(std::span<const double> values) {
    EpochTotals totals;
    if (values.size() < numbers)
        return totals;
    totals.lossSum = values[0];
    totals.samples = static_cast<std::int64_t>(values[1]);
    totals.steps = static_cast<std::int64_t>(values[2]);
    totals.durationS = values[3];
    totals.phases = PhaseTotals::fromNumbers(values.subspan(4));
    return totals;
}

} // namespace lockstep::trainer
