// SPDX-License-Identifier: MIT
#include "trainer/report/epoch_totals.h"

namespace lockstep::trainer {

void EpochTotals::add(const EpochTotals &other) {
    lossSum += other.lossSum;
    samples += other.samples;
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
