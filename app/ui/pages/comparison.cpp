#include "app/ui/pages/comparison.h"

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analysis/format.h"
#include "analysis/result_table.h"
#include "models/run_set.h"

namespace lockstep::ui {
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

/// Total training times of the done repeats of each row, by the row's name.
std::map<std::string, std::vector<double>> timesByRow(const core::ResultTable &table, const core::RunSet &runs) {
    std::map<std::string, std::vector<double>> out;
    for (const core::RunStore *store : runs.stores()) {
        const core::RunOutcome outcome = store->outcome();
        if (outcome.state != RunState::Done || !outcome.totalTrainingTimeS)
            continue;
        for (const core::ResultRow &row : table.rows)
            if (!row.published && std::find(row.runs.begin(), row.runs.end(), outcome.run) != row.runs.end())
                out[row.name].push_back(*outcome.totalTrainingTimeS);
    }
    return out;
}

QString rangeText(const SpeedUpInterval &interval) {
    return QObject::tr("%1 to %2").arg(core::speedUp(interval.low), core::speedUp(interval.high));
}

QString againstReference(const core::ResultRow &row, const QString &reference) {
    const double factor = *row.speedUpTraining;
    const QString name = QString::fromStdString(row.name);
    return factor >= 1
               ? QObject::tr("%1 trains %2 times as fast as %3").arg(name, core::significant(factor), reference)
               : QObject::tr("%1 takes %2 times as long as %3").arg(name, core::significant(1 / factor), reference);
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

VerdictText verdictText(const core::ResultTable &table, const core::RunSet &runs) {
    VerdictText out;
    out.sentence = QString::fromStdString(core::verdictSentence(table));
    const auto times = timesByRow(table, runs);
    const auto reference = times.find(table.reference);
    const QString name = QString::fromStdString(table.reference);
    QStringList sentences, ranges;
    bool unclear = false;
    int least = 1000;
    for (const core::ResultRow &row : table.rows) {
        if (row.published || row.reference || !row.speedUpTraining)
            continue;
        const auto own = times.find(row.name);
        const auto interval = reference == times.end() || own == times.end()
                                  ? std::nullopt
                                  : speedUpInterval(reference->second, own->second);
        least = std::min({least, int(own == times.end() ? 0 : own->second.size()),
                          int(reference == times.end() ? 0 : reference->second.size())});
        bool same = false;
        if (interval) {
            ranges.append(QObject::tr("%1 %2").arg(QString::fromStdString(row.name), rangeText(*interval)));
            same = !interval->isDifferent();
        }
        unclear = unclear || same;
        sentences.append(same ? QObject::tr("%1 and %2 can't be told apart").arg(QString::fromStdString(row.name), name)
                              : againstReference(row, name));
    }
    if (unclear)
        out.sentence = sentences.join(QStringLiteral("; ")) + QLatin1Char('.');
    if (sentences.isEmpty())
        return out;
    if (!ranges.isEmpty())
        out.spread = QObject::tr("Speed-up with its 95 % interval: %1. Medians of at least %2 repeats each.")
                         .arg(ranges.join(QStringLiteral(", ")))
                         .arg(least);
    else if (least <= 1)
        out.spread = QObject::tr("One run each: differences of a few percent can be chance; repeats would tell.");
    return out;
}

} // namespace lockstep::ui
