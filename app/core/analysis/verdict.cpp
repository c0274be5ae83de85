#include "analysis/verdict.h"

#include <algorithm>
#include <cmath>

#include "analysis/format.h"
#include "analysis/result_table.h"

namespace lockstep::core {
namespace {

struct Moments {
    double mean = 0, varianceOfMean = 0, degrees = 0;
};

Moments momentsOfLogs(const std::vector<double> &values) {
    Moments out;
    const double count = double(values.size());
    for (const double value : values)
        out.mean += std::log(value) / count;
    double squares = 0;
    for (const double value : values)
        squares += std::pow(std::log(value) - out.mean, 2);
    out.degrees = count - 1;
    out.varianceOfMean = squares / (count - 1) / count;
    return out;
}

double tDensity(double t, double degrees) {
    return std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(degrees * M_PI) *
           std::pow(1 + t * t / degrees, -(degrees + 1) / 2);
}

/// Student's t below which 97.5 % lie: the density's integral (Simpson) inverted by halving.
double tQuantile(double degrees) {
    const auto upTo = [degrees](double t) {
        constexpr int parts = 400; // even
        double sum = tDensity(0, degrees) + tDensity(t, degrees);
        for (int i = 1; i < parts; ++i)
            sum += (i % 2 ? 4 : 2) * tDensity(t * i / parts, degrees);
        return sum * t / parts / 3;
    };
    double low = 0, high = 200;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (upTo(middle) < 0.475 ? low : high) = middle;
    }
    return high;
}

std::string rangeText(const ResultRow &row, const SpeedUpInterval &interval) {
    return row.name + " " + speedUp(interval.low).toStdString() + " to " + speedUp(interval.high).toStdString();
}

std::string againstReference(const ResultRow &row, const std::string &reference) {
    const double factor = *row.speedUpTraining;
    return row.name +
           (factor >= 1 ? " trains " + significant(factor).toStdString() + " times as fast as "
                        : " takes " + significant(1 / factor).toStdString() + " times as long as ") +
           reference;
}

const ResultRow *referenceOf(const ResultTable &table) {
    const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                    [](const ResultRow &row) { return row.reference && !row.published; });
    return found == table.rows.end() ? nullptr : &*found;
}

void append(std::string &text, const char *separator, const std::string &part) {
    text += (text.empty() ? "" : separator) + part;
}

} // namespace

std::optional<SpeedUpInterval> speedUpInterval(const std::vector<double> &reference, const std::vector<double> &run) {
    const auto usable = [](const std::vector<double> &values) {
        return values.size() >= 2 &&
               std::all_of(values.begin(), values.end(), [](double v) { return v > 0 && std::isfinite(v); });
    };
    if (!usable(reference) || !usable(run))
        return std::nullopt;
    const Moments a = momentsOfLogs(reference), b = momentsOfLogs(run);
    const double variance = a.varianceOfMean + b.varianceOfMean, difference = a.mean - b.mean;
    double reach = 0;
    if (variance > 0) {
        const double degrees =
            variance * variance /
            (a.varianceOfMean * a.varianceOfMean / a.degrees + b.varianceOfMean * b.varianceOfMean / b.degrees);
        reach = tQuantile(degrees) * std::sqrt(variance);
    }
    return SpeedUpInterval{std::exp(difference), std::exp(difference - reach), std::exp(difference + reach)};
}

VerdictText verdictText(const ResultTable &table) {
    VerdictText out;
    const ResultRow *reference = referenceOf(table);
    if (!reference)
        return out;
    std::string ranges;
    std::size_t least = reference->trainingTimesS.size();
    for (const ResultRow &row : table.rows) {
        if (row.published || row.reference || !row.speedUpTraining)
            continue;
        least = std::min(least, row.trainingTimesS.size());
        const auto interval = speedUpInterval(reference->trainingTimesS, row.trainingTimesS);
        if (interval)
            append(ranges, ", ", rangeText(row, *interval));
        append(out.sentence, "; ",
               interval && !interval->isDifferent() ? row.name + " and " + table.reference + " can't be told apart"
                                                    : againstReference(row, table.reference));
    }
    if (out.sentence.empty())
        return out;
    out.sentence += ".";
    if (!ranges.empty())
        out.spread = "Speed-up with its 95 % interval: " + ranges + ". Medians of at least " + std::to_string(least) +
                     (least == 1 ? " repeat" : " repeats") + " each.";
    else if (least <= 1)
        out.spread = "One run each: differences of a few percent can be chance; repeats would tell.";
    return out;
}

} // namespace lockstep::core
