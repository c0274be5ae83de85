// SPDX-License-Identifier: MIT
#include "base/moments.h"

#include <numeric>

namespace lockstep::core {

std::optional<double> meanOf(const std::vector<double> &values) {
    if (values.empty())
        return std::nullopt;
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

std::optional<double> varianceOf(const std::vector<double> &values) {
    if (values.size() < 2)
        return std::nullopt;
    const double mean = *meanOf(values);
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return squares / double(values.size() - 1);
}

} // namespace lockstep::core
