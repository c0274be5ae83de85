// SPDX-License-Identifier: MIT
#include "analysis/compare/statistics.h"

#include <algorithm>
#include <cmath>

#include "analysis/compare/result_table.h"
#include "ipc/median.h"

namespace lockstep::core {
namespace {

bool isUsable(const std::vector<double> &times) {
    return !times.empty() &&
           std::all_of(times.begin(), times.end(), [](double time) { return time > 0 && std::isfinite(time); });
}

struct Moments {
    double mean = 0, varianceOfMean = 0, degrees = 0;
};

Moments momentsOfLogs(const std::vector<double> &times) {
    Moments out;
    const double count = double(times.size());
    for (const double time : times)
        out.mean += std::log(time) / count;
    double squares = 0;
    for (const double time : times)
        squares += std::pow(std::log(time) - out.mean, 2);
    out.degrees = count - 1;
    out.varianceOfMean = squares / (count - 1) / count;
    return out;
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated from the front by Lentz's method.
double betaFraction(double x, double a, double b) {
    constexpr double tiny = 1e-300;
    const auto kept = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
    double c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= 500; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / kept(1 + even * d);
        c = kept(1 + even / c);
        value *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / kept(1 + odd * d);
        c = kept(1 + odd / c);
        value *= d * c;
        if (std::fabs(d * c - 1) < 1e-15)
            break;
    }
    return value;
}

/// The regularised incomplete beta function I_x(a, b).
double incompleteBeta(double x, double a, double b) {
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2)) // where the fraction converges fast; else by symmetry
        return front * betaFraction(x, a, b) / a;
    return 1 - front * betaFraction(1 - x, b, a) / b;
}

/// The share of Student's t outside -t..t.
double tailsBeyond(double t, double degrees) {
    return incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5);
}

} // namespace

double studentQuantile(double confidence, double degrees) {
    const double tails = 1 - confidence;
    if (confidence <= 0)
        return 0;
    double low = 0, high = 2;
    while (tailsBeyond(high, degrees) > tails && high < 1e12) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
        const double middle = (low + high) / 2;
        (tailsBeyond(middle, degrees) > tails ? low : high) = middle;
    }
    return (low + high) / 2;
}

std::optional<SpeedUp> speedUpOf(const std::vector<double> &reference, const std::vector<double> &run) {
    if (!isUsable(reference) || !isUsable(run))
        return std::nullopt;
    SpeedUp out;
    out.factor = *median(reference) / *median(run);
    out.referenceRepeats = int(reference.size());
    out.runRepeats = int(run.size());
    if (std::min(out.referenceRepeats, out.runRepeats) < repeatsForInterval)
        return out;
    const Moments a = momentsOfLogs(reference), b = momentsOfLogs(run);
    const double variance = a.varianceOfMean + b.varianceOfMean, difference = a.mean - b.mean;
    double reach = 0;
    if (variance > 0) {
        const double degrees =
            variance * variance /
            (a.varianceOfMean * a.varianceOfMean / a.degrees + b.varianceOfMean * b.varianceOfMean / b.degrees);
        reach = studentQuantile(0.95, degrees) * std::sqrt(variance);
    }
    out.low = std::min(std::exp(difference - reach), out.factor);
    out.high = std::max(std::exp(difference + reach), out.factor);
    return out;
}

} // namespace lockstep::core
