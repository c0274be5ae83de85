// SPDX-License-Identifier: MIT
#include "analysis/compare/mean_difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/compare/student.h"
#include "base/moments.h"

namespace lockstep::core {
namespace {

/// Of three intervals of which the shortest is taken. The paired one, of the fewest degrees of freedom, is chosen only where rounds
/// share much, so that being chosen costs it less.
constexpr double confidenceOfPaired = 0.96, confidenceOfOthers = 0.97;
/// What a side pays for the slope that both share.
constexpr double halfADegree = 0.5;

struct Moments {
    double count = 0, mean = 0, varianceOfMean = 0, degrees = 0;
};

Moments momentsOf(std::vector<double> values) {
    std::ranges::sort(values); // sums then do not depend on the repeats' order
    Moments out;
    out.count = double(values.size());
    out.mean = meanOf(values).value_or(0);
    out.degrees = out.count - 1;
    out.varianceOfMean = varianceOf(values).value_or(0) / out.count;
    return out;
}

Moments momentsOf(const std::vector<Repeat> &repeats) {
    std::vector<double> values;
    for (const Repeat &repeat : repeats)
        values.push_back(repeat.value);
    return momentsOf(std::move(values));
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
    IntervalMethod method = IntervalMethod::None;
    double standard = 0, degrees = 1;
    double shift = 0; ///< by how much a drift moved the difference
    [[nodiscard]] double reach(double confidence) const {
        return std::hypot(standard > 0 ? studentQuantile(confidence, degrees) * standard : 0, shift);
    }
    /// How often a difference so large would occur without any.
    [[nodiscard]] double chanceOf(double difference) const {
        const double beyond = std::sqrt(std::max(0.0, difference * difference - shift * shift));
        if (standard > 0)
            return studentTails(beyond / standard, degrees);
        return beyond == 0 ? 1 : 0;
    }
};

/// Satterthwaite's degrees.
StandardError sumOf(const Moments &a, const Moments &b, IntervalMethod method) {
    const double variance = a.varianceOfMean + b.varianceOfMean;
    if (variance <= 0)
        return {method, 0, a.degrees + b.degrees};
    const double degrees =
        variance * variance /
        (a.varianceOfMean * a.varianceOfMean / a.degrees + b.varianceOfMean * b.varianceOfMean / b.degrees);
    return {method, std::sqrt(variance), degrees};
}

StandardError pooledOf(const Moments &a, const Moments &b) {
    const double degrees = a.degrees + b.degrees;
    const auto squares = [](const Moments &one) { return one.varianceOfMean * one.count * one.degrees; };
    const double variance = (squares(a) + squares(b)) / degrees;
    return {IntervalMethod::LeftOut, std::sqrt(variance * (1 / a.count + 1 / b.count)), degrees};
}

/// One side's values about their mean, and its moments about theirs.
struct Centred {
    std::vector<double> values, moments;
    double meanMoment = 0;
    [[nodiscard]] double momentSquares() const {
        double sum = 0;
        for (const double each : moments)
            sum += each * each;
        return sum;
    }
    [[nodiscard]] double products() const {
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            sum += values[i] * moments[i];
        return sum;
    }
    /// Of what a line of that slope leaves.
    [[nodiscard]] Moments left(double slope) const {
        Moments out;
        out.count = double(values.size());
        out.degrees = out.count - 1 - halfADegree;
        double squares = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            squares += (values[i] - slope * moments[i]) * (values[i] - slope * moments[i]);
        out.varianceOfMean = squares / out.degrees / out.count;
        return out;
    }
};

std::optional<Centred> centred(const std::vector<Repeat> &repeats, double mean) {
    Centred out;
    for (const Repeat &repeat : repeats) {
        if (!repeat.moment)
            return std::nullopt;
        out.values.push_back(repeat.value - mean);
        out.moments.push_back(*repeat.moment);
    }
    out.meanMoment = meanOf(out.moments).value_or(0);
    for (double &each : out.moments)
        each -= out.meanMoment;
    return out;
}

/// Absent where a moment is unknown, or all repeats began at the same.
std::optional<StandardError> withoutDrift(const std::vector<Repeat> &from, const std::vector<Repeat> &to,
                                          const Moments &a, const Moments &b) {
    const auto left = centred(from, a.mean), right = centred(to, b.mean);
    if (!left || !right)
        return std::nullopt;
    const double squares = left->momentSquares() + right->momentSquares();
    if (squares <= 0)
        return std::nullopt;
    const double slope = (left->products() + right->products()) / squares, apart = right->meanMoment - left->meanMoment;
    StandardError out = sumOf(left->left(slope), right->left(slope), IntervalMethod::WithoutDrift);
    out.standard *= std::sqrt(1 + apart * apart / squares / (1 / a.count + 1 / b.count));
    out.shift = slope * apart;
    return out;
}

double confidenceAmongAll(const StandardError &error) {
    return error.method == IntervalMethod::Paired ? confidenceOfPaired : confidenceOfOthers;
}

MeanDifference judged(double value, const StandardError &error, double confidence) {
    MeanDifference out;
    out.value = value;
    out.method = error.method;
    out.confidence = confidence;
    const double reach = error.reach(confidence);
    out.low = value - reach;
    out.high = value + reach;
    const double oneSided = error.reach(1 - 2 * (1 - confidence));
    out.least = value - oneSided;
    out.most = value + oneSided;
    out.chance = std::min(1.0, error.chanceOf(value) * falseAlarms / (1 - confidence));
    return out;
}

} // namespace

std::string_view toString(IntervalMethod method) {
    switch (method) {
    case IntervalMethod::Welch:
        return "Welch";
    case IntervalMethod::Paired:
        return "paired by round";
    case IntervalMethod::WithoutDrift:
        return "drift removed";
    case IntervalMethod::LeftOut:
        return "one repeat left out";
    case IntervalMethod::None:
        break;
    }
    return "";
}

double degreesOf(IntervalMethod method, int repeats) {
    const int each = repeats - 1;
    switch (method) {
    case IntervalMethod::Paired:
        return each;
    case IntervalMethod::WithoutDrift:
    case IntervalMethod::LeftOut:
        return 2 * each - 1;
    case IntervalMethod::Welch:
    case IntervalMethod::None:
        break;
    }
    return 2 * each;
}

MeanDifference differenceOf(const std::vector<Repeat> &from, const std::vector<Repeat> &to) {
    const Moments a = momentsOf(from), b = momentsOf(to);
    MeanDifference out;
    out.value = b.mean - a.mean;
    if (std::min(from.size(), to.size()) < repeatsForInterval)
        return out;
    const StandardError welch = sumOf(a, b, IntervalMethod::Welch);
    const std::vector<double> differences = differencesByRound(from, to);
    if (differences.empty())
        return judged(out.value, welch, 1 - falseAlarms);
    const Moments paired = momentsOf(differences);
    std::vector<StandardError> all = {welch,
                                      {IntervalMethod::Paired, std::sqrt(paired.varianceOfMean), paired.degrees}};
    if (const auto other = withoutDrift(from, to, a, b))
        all.push_back(*other);
    const StandardError shortest = *std::ranges::min_element(
        all, {}, [](const StandardError &error) { return error.reach(confidenceAmongAll(error)); });
    return judged(out.value, shortest, confidenceAmongAll(shortest));
}

MeanDifference differenceOfTheRest(const std::vector<Repeat> &from, const std::vector<Repeat> &to) {
    const Moments a = momentsOf(from), b = momentsOf(to);
    return judged(b.mean - a.mean, pooledOf(a, b), confidenceOfOthers);
}

} // namespace lockstep::core
