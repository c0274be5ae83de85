// SPDX-License-Identifier: MIT
#include "ipc/scalars.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

bool isScalarName(std::string_view name) {
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && name.size() <= maxScalarNameBytes && isLetter(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return isLetter(c) || isDigit(c); });
}

ScalarWindow scalarOf(double value) {
    return {value, 1, value, value, value};
}

void merge(ScalarWindow &earlier, const ScalarWindow &later) {
    earlier.sum += later.sum;
    earlier.weight += later.weight;
    earlier.min = lesserOrNan(earlier.min, later.min);
    earlier.max = greaterOrNan(earlier.max, later.max);
    earlier.last = later.last;
}

void merge(Scalars &earlier, const Scalars &later) {
    for (const auto &[name, window] : later)
        if (const auto known = earlier.find(name); known != earlier.end())
            merge(known->second, window);
        else if (earlier.size() < maxScalars)
            earlier.emplace(name, window);
}

void add(Scalars &scalars, std::string_view name, double value) {
    if (const auto known = scalars.find(name); known != scalars.end())
        merge(known->second, scalarOf(value));
    else if (scalars.size() < maxScalars)
        scalars.emplace(name, scalarOf(value));
}

double lesserOrNan(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}

double greaterOrNan(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

} // namespace lockstep
