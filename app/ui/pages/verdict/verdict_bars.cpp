// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_bars.h"

#include <algorithm>

#include <QObject>

#include "app/ui/theme/palette.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

QString nameOf(const core::ResultRow &row) {
    return QString::fromStdString(core::labelOf(row));
}

/// "not compared: baseline failed", of a run that is done; empty: its reference may still get a time, or has one.
QString whyNotCompared(const core::ResultTable &table) {
    const auto reference = std::ranges::find(table.rows, true, &core::ResultRow::reference);
    if (reference == table.rows.end() || !core::isOver(*reference) || !reference->trainingTimes.empty())
        return {};
    return reference->state == "done"
               ? QObject::tr("not compared: %1 has no training time").arg(nameOf(*reference))
               : QObject::tr("not compared: %1 %2").arg(nameOf(*reference), QString::fromStdString(reference->state));
}

/// What stands in place of a bar: "stopped: 1 of 2 done, 13.8 s".
QString withoutBar(const core::ResultRow &row, const core::ResultTable &table) {
    if (row.otherWork)
        return QString::fromUtf8(core::otherWorkText);
    if (const QString why = row.state == "done" && !row.reference ? whyNotCompared(table) : QString(); !why.isEmpty())
        return why;
    const std::string done = row.state == "done" ? std::string() : core::doneText(row);
    return QString::fromStdString(row.state + (done.empty() ? "" : ": " + done));
}

/// Tooltip of a speed-up's bar: the kind of figure, and why it has no whisker.
QString speedUpHint(const core::ResultRow &row) {
    const QString kind = QString::fromStdString(row.kind);
    if (!row.trainingInterval || row.trainingInterval->hasInterval())
        return kind;
    return kind +
           (row.trainingInterval->shareEpochs
                ? QObject::tr("; no interval: %1").arg(QString::fromUtf8(core::sharedEpochsReason))
                : QObject::tr("; no interval: fewer than %1 repeats of one of the two").arg(core::repeatsForInterval));
}

} // namespace

QList<BarData> speedUpBars(const core::ResultTable &table) {
    QList<BarData> out;
    for (const core::ResultRow &row : table.rows) {
        const auto value = row.speedUpTraining ? row.speedUpTraining : row.published ? row.speedUpRun : std::nullopt;
        if (!value && (row.published || row.state == "not run"))
            continue; // a run without a time is only in the table
        const core::SpeedUp interval = row.trainingInterval.value_or(core::SpeedUp());
        out.append({nameOf(row), methodColor(QString::fromStdString(row.method)), row.published, value,
                    value ? core::speedUp(value) : withoutBar(row, table), speedUpHint(row), interval.low,
                    interval.high});
    }
    return out;
}

QList<BarData> accuracyBars(const core::ResultTable &table, bool published) {
    QList<BarData> out;
    for (const core::ResultRow &row : table.rows)
        if (row.testAccuracy && (published || !row.published))
            out.append({nameOf(row), methodColor(QString::fromStdString(row.method)), row.published,
                        *row.testAccuracy * 100, core::percent(row.testAccuracy), QString::fromStdString(row.kind)});
    return out;
}

} // namespace lockstep::ui
