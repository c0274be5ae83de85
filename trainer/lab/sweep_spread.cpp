// SPDX-License-Identifier: MIT
#include "trainer/lab/sweep_spread.h"

#include <algorithm>
#include <cmath>

#include "ipc/median.h"

namespace lockstep::trainer {

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(share * last + 0.5)];
}

std::optional<double> medianUncertainty(std::vector<double> values) {
    const auto n = values.size();
    const double middle = median(values).value_or(0);
    if (!(middle > 0))
        return std::nullopt;
    // The number of values below the true median is binomial. So the interval from the k-th smallest to the k-th
    // largest value misses the median with probability 2·P(fewer than k lie below).
    std::size_t k = 0;
    double term = std::pow(0.5, static_cast<double>(n)), below = term;
    while (2 * below <= 0.05) {
        ++k;
        term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
        below += term;
    }
    if (k == 0)
        return std::nullopt;
    std::sort(values.begin(), values.end());
    return (values[n - k] - values[k - 1]) / 2 / middle;
}

} // namespace lockstep::trainer
