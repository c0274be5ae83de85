// SPDX-License-Identifier: MIT
#include "models/lab_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "ipc/run_title.h"

namespace lockstep::core {
namespace {

TableCell words(const QString &text, const QString &hint = {}) {
    return {text, text, false, hint};
}
TableCell figure(std::optional<double> value, const QString &text, const QString &hint = {}) {
    return {text, value ? QVariant(*value) : QVariant(), true, hint};
}
TableCell time(std::optional<double> seconds, const QString &hint = {}) {
    return figure(seconds, shortTime(seconds), seconds ? hint : QStringLiteral("not measured"));
}

QString regimeText(const Regime &regime) {
    const std::optional<double> rate = regime.betaSPerByte > 0 ? std::optional(1 / regime.betaSPerByte) : std::nullopt;
    return QStringLiteral("%1 to %2: %3 + size ÷ %4")
        .arg(messageSize(regime.fromBytes), messageSize(regime.toBytes), shortTime(regime.alphaS), bandwidth(rate));
}

QString intervalText(const Interval &interval, QString (*format)(std::optional<double>)) {
    return QStringLiteral("%1 to %2").arg(format(interval.low), format(interval.high));
}

/// "Off by, 80 KiB to 10 MiB": the sizes that were kept out of the fit.
QString errorHead(const LabRecord &record) {
    std::optional<std::pair<double, double>> sizes;
    for (const LabRow &row : record.rows)
        if (row.heldOut)
            sizes = sizes ? std::pair(std::min(sizes->first, row.bytes), std::max(sizes->second, row.bytes))
                          : std::pair(row.bytes, row.bytes);
    return !sizes ? QStringLiteral("Off by")
                  : QStringLiteral("Off by, %1 to %2").arg(messageSize(sizes->first), messageSize(sizes->second));
}

} // namespace

CellTable fitTable(const LabRecord &record, const CommunicationModel &model) {
    CellTable table;
    table.heads = {QStringLiteral("Operation"), QStringLiteral("Ranks"),      QStringLiteral("4 B"),
                   QStringLiteral("1 MiB"),     QStringLiteral("Most busbw"), QStringLiteral("Pieces"),
                   errorHead(record),           QStringLiteral("at most")};
    table.hints = {QStringLiteral("What ranks do together"),
                   QStringLiteral("Processes that talk to each other"),
                   QStringLiteral("Time of the smallest message by the fit: what a start costs"),
                   QStringLiteral("Time of 1 MiB by the fit"),
                   QStringLiteral("Largest bus bandwidth measured: what a link carried, as nccl-tests defines it"),
                   QStringLiteral("Straight pieces of the fit: time = α + β·size in each"),
                   QStringLiteral("Median error at sizes that the fit never saw"),
                   QStringLiteral("The largest of those errors")};
    for (const LabFit &fit : labFits(record, model)) {
        const CostModel *cost = model.find(fit.collective, fit.ranks);
        QStringList pieces;
        for (const Regime &regime : fit.regimes)
            pieces << regimeText(regime);
        if (fit.partner != LabFit().partner)
            pieces.prepend(QStringLiteral("Between ranks 0 and %1").arg(fit.partner));
        const QString hint = pieces.join(u'\n');
        const QString none = QStringLiteral("no size was held out");
        table.rows.push_back(
            {words(qs(collectiveTitle(fit.collective)), hint), figure(fit.ranks, QString::number(fit.ranks)),
             time(cost->seconds(4), hint), time(cost->seconds(1024 * 1024), hint),
             figure(fit.busbwMostBytesS, bandwidth(fit.busbwMostBytesS)),
             figure(double(fit.regimes.size()), QString::number(fit.regimes.size()), hint),
             figure(fit.heldOutMedianError, percent(fit.heldOutMedianError, 1),
                    fit.heldOutMedianError ? QStringLiteral("over %1 sizes").arg(fit.heldOut) : none),
             figure(fit.heldOutWorst, percent(fit.heldOutWorst, 1),
                    fit.heldOutWorstBytes ? QStringLiteral("at %1").arg(messageSize(*fit.heldOutWorstBytes)) : none)});
    }
    return table;
}

CellTable ringTable(const LabRecord &record, const CommunicationModel &model, int ranks) {
    CellTable table;
    table.heads = {QStringLiteral("K"),        QStringLiteral("Ring: formula"),
                   QStringLiteral("measured"), QStringLiteral("Server: formula"),
                   QStringLiteral("measured"), QStringLiteral("Backend's own")};
    table.hints = {QStringLiteral("Data of one rank, e.g. a model's gradient"),
                   qs(ringFormulaText()),
                   QStringLiteral("Our ring of sends and receives"),
                   qs(serverFormulaText()),
                   QStringLiteral("All send to rank 0, which adds and sends back"),
                   QStringLiteral("The backend's all-reduce")};
    constexpr double kib = 1024, mib = 1024 * kib;
    for (const RingVersusServer &row :
         ringVersusServer(record, model, {64 * kib, 256 * kib, mib, 4 * mib, 16 * mib, 64 * mib}))
        if (row.ranks == ranks)
            table.rows.push_back({words(messageSize(row.bytes)), time(row.ringFormulaS), time(row.ringMeasuredS),
                                  time(row.serverFormulaS), time(row.serverMeasuredS), time(row.backendMeasuredS)});
    return table;
}

CellTable forecastTable(const ForecastRecord &record, const std::vector<ForecastOutcome> &outcomes) {
    CellTable table;
    table.heads = {QStringLiteral("Method"),   QStringLiteral("Step"),     QStringLiteral("90 % range"),
                   QStringLiteral("Epoch"),    QStringLiteral("Speed-up"), QStringLiteral("90 % range"),
                   QStringLiteral("Came out"), QStringLiteral("Off by")};
    const bool calibrated = record.calibration.graded > 0;
    table.hints = {
        QStringLiteral("Method, number of devices, settings of its own that are no defaults"),
        QStringLiteral("Forecast time of a step"),
        calibrated ? QStringLiteral("Is to hold the measured step in %1 of forecasts").arg(percent(forecastLevel, 0))
                   : QStringLiteral("The model's own bounds: too few forecasts were graded to say how many "
                                    "measured steps they hold"),
        QStringLiteral("Forecast time of an epoch"),
        QStringLiteral("Against one device, by epoch time"),
        QStringLiteral("Follows from the bounds of the step; speed-ups are not graded"),
        QStringLiteral("Median step of the runs of this work since the forecast"),
        QStringLiteral("Forecast ÷ measured - 1: the forecast's grade")};
    const QString unknown = QStringLiteral("-");
    for (std::size_t i = 0; i < record.forecast.rows.size(); ++i) {
        const ForecastRow &row = record.forecast.rows[i];
        const ForecastOutcome outcome = i < outcomes.size() ? outcomes[i] : ForecastOutcome();
        table.methods << qs(toString(row.way.method));
        const TableCell name = words(qs(nameOf(record.input.config, row.way, row.devices)));
        if (!row.whyUnknown.empty()) {
            const TableCell none = figure({}, unknown, qs(row.whyUnknown));
            table.rows.push_back(
                {name, none, words(qs(row.whyUnknown), qs(row.whyUnknown)), none, none, none, none, none});
            continue;
        }
        const auto &grade = outcome.grade;
        const QString noRun = outcome.disturbed > 0
                                  ? QStringLiteral("only disturbed runs since: other programs took their cores")
                              : outcome.runsBefore == 0
                                  ? QStringLiteral("no such run yet")
                                  : QStringLiteral("no such run since; %1 made before the forecast %2 not its test")
                                        .arg(outcome.runsBefore)
                                        .arg(outcome.runsBefore == 1 ? QStringLiteral("is") : QStringLiteral("are"));
        table.rows.push_back(
            {name, time(row.stepS.value), words(intervalText(row.stepS, shortTime)),
             figure(row.epochS.value, seconds(row.epochS.value)), figure(row.speedUp.value, speedUp(row.speedUp.value)),
             words(intervalText(row.speedUp, speedUp)),
             figure(outcome.measuredStepS, shortTime(outcome.measuredStepS),
                    outcome.runs == 0   ? noRun
                    : outcome.runs == 1 ? QStringLiteral("of 1 run since the forecast")
                                        : QStringLiteral("median of %1 runs since the forecast").arg(outcome.runs)),
             figure(grade ? std::optional(grade->error) : std::nullopt, grade ? percent(grade->error, 1) : unknown,
                    !grade          ? noRun
                    : grade->within ? QStringLiteral("within the interval")
                                    : QStringLiteral("outside the interval"))});
    }
    return table;
}

} // namespace lockstep::core
