// SPDX-License-Identifier: MIT
#include "analysis/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "base/moments.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

constexpr double falseAlarms = 0.05;
constexpr double confidence = 1 - falseAlarms;
/// Of each of two intervals of which the shorter is taken.
constexpr double confidenceOfEither = 0.96;

bool isUsable(const std::vector<Repeat> &times) {
    return !times.empty() && std::ranges::all_of(times, [](const Repeat &time) { return isTimeOfWork(time.value); });
}

struct Moments {
    double mean = 0, varianceOfMean = 0, degrees = 0;
};

Moments momentsOf(std::vector<double> values) {
    std::ranges::sort(values); // sums then do not depend on the repeats' order
    Moments out;
    const double count = double(values.size());
    out.mean = meanOf(values).value_or(0);
    out.degrees = count - 1;
    out.varianceOfMean = varianceOf(values).value_or(0) / count;
    return out;
}

std::vector<double> valuesOf(const std::vector<Repeat> &repeats) {
    std::vector<double> out;
    for (const Repeat &repeat : repeats)
        out.push_back(repeat.value);
    return out;
}

std::vector<Repeat> logsOf(std::vector<Repeat> times) {
    for (Repeat &time : times)
        time.value = std::log(time.value);
    return times;
}

/// The difference in each round; empty unless every repeat has exactly one of the other side in its round.
std::vector<double> differencesByRound(const std::vector<Repeat> &from, const std::vector<Repeat> &to) {
    std::map<std::string_view, double> left;
    for (const Repeat &repeat : from)
        if (repeat.round.empty() || !left.emplace(repeat.round, repeat.value).second)
            return {};
    std::vector<double> out;
    for (const Repeat &repeat : to) {
        const auto pair = left.find(repeat.round);
        if (pair == left.end())
            return {};
        out.push_back(repeat.value - pair->second);
        left.erase(pair);
    }
    return left.empty() ? out : std::vector<double>();
}

/// How far a difference of means may lie from the truth.
struct StandardError {
    double standard = 0, degrees = 1;
    IntervalMethod method = IntervalMethod::None;
};

StandardError welchOf(const Moments &a, const Moments &b) {
    const double variance = a.varianceOfMean + b.varianceOfMean;
    if (variance <= 0)
        return {0, a.degrees + b.degrees, IntervalMethod::Welch};
    const double degrees =
        variance * variance /
        (a.varianceOfMean * a.varianceOfMean / a.degrees + b.varianceOfMean * b.varianceOfMean / b.degrees);
    return {std::sqrt(variance), degrees, IntervalMethod::Welch};
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

double studentDensity(double t, double degrees) {
    return std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2) -
                    (degrees + 1) / 2 * std::log1p(t * t / degrees)) /
           std::sqrt(degrees * std::numbers::pi);
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
    // Newton's steps on the logarithm of the tails, halving the bracket where a step would leave it.
    double t = high;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
        const double beyond = tailsBeyond(t, degrees), excess = std::log(beyond / tails);
        (excess > 0 ? low : high) = t;
        const double step = excess * beyond / (2 * studentDensity(t, degrees));
        if (std::fabs(step) < 1e-13 * t)
            break;
        t = t + step > low && t + step < high ? t + step : (low + high) / 2;
    }
    return t;
}

std::string_view toString(IntervalMethod method) {
    switch (method) {
    case IntervalMethod::Welch:
        return "Welch";
    case IntervalMethod::Paired:
        return "paired by round";
    case IntervalMethod::None:
        break;
    }
    return "";
}

double confidenceOf(IntervalMethod method) {
    return method == IntervalMethod::Paired ? confidenceOfEither : confidence;
}

std::string equalWithinText() {
    return "within ±" + std::to_string(std::lround(100 * equalWithin)) + " %";
}

MeanDifference differenceOf(const std::vector<Repeat> &from, const std::vector<Repeat> &to) {
    const Moments a = momentsOf(valuesOf(from)), b = momentsOf(valuesOf(to));
    MeanDifference out;
    out.value = b.mean - a.mean;
    if (std::min(from.size(), to.size()) < repeatsForInterval)
        return out;
    StandardError error = welchOf(a, b);
    double at = confidence;
    if (const std::vector<double> differences = differencesByRound(from, to); !differences.empty()) {
        at = confidenceOfEither;
        const Moments paired = momentsOf(differences);
        const StandardError other{std::sqrt(paired.varianceOfMean), paired.degrees, IntervalMethod::Paired};
        const auto reach = [](const StandardError &e) {
            return studentQuantile(confidenceOfEither, e.degrees) * e.standard;
        };
        if (reach(other) < reach(error))
            error = other;
    }
    const double reach = error.standard > 0 ? studentQuantile(at, error.degrees) * error.standard : 0;
    out.method = error.method;
    out.low = out.value - reach;
    out.high = out.value + reach;
    if (error.standard > 0)
        out.chance =
            std::min(1.0, tailsBeyond(std::fabs(out.value) / error.standard, error.degrees) * falseAlarms / (1 - at));
    else
        out.chance = out.value == 0 ? 1 : 0;
    return out;
}

std::optional<double> geometricMeanOf(const std::vector<Repeat> &times) {
    return isUsable(times) ? std::optional(std::exp(momentsOf(valuesOf(logsOf(times))).mean)) : std::nullopt;
}

std::optional<double> meanFactorOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run) {
    if (!isUsable(reference) || !isUsable(run))
        return std::nullopt;
    return std::exp(momentsOf(valuesOf(logsOf(reference))).mean - momentsOf(valuesOf(logsOf(run))).mean);
}

std::optional<SpeedUp> speedUpOf(const std::vector<Repeat> &reference, const std::vector<Repeat> &run) {
    if (!isUsable(reference) || !isUsable(run))
        return std::nullopt;
    const MeanDifference saved = differenceOf(logsOf(run), logsOf(reference));
    SpeedUp out;
    out.factor = std::exp(saved.value);
    out.referenceRepeats = int(reference.size());
    out.runRepeats = int(run.size());
    if (!saved.low)
        return out;
    out.low = std::exp(*saved.low);
    out.high = std::exp(*saved.high);
    out.method = saved.method;
    out.chance = saved.chance;
    out.different = out.leavesOutOne();
    return out;
}

void decideTogether(const std::vector<SpeedUp *> &family) {
    std::vector<SpeedUp *> judged;
    for (SpeedUp *one : family)
        if (one && one->hasInterval())
            judged.push_back(one);
    std::ranges::stable_sort(judged, {}, [](const SpeedUp *one) { return one->chance; });
    const double count = double(judged.size());
    bool going = true; // until one can't be told apart
    for (std::size_t i = 0; i < judged.size(); ++i) {
        going = going && judged[i]->chance <= falseAlarms / (count - double(i)) && judged[i]->leavesOutOne();
        judged[i]->different = going;
        judged[i]->comparisons = int(judged.size());
    }
}

} // namespace lockstep::core
