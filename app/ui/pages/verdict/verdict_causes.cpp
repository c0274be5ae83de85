// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_causes.h"

#include <QObject>
#include <QStringList>

#include "base/format.h"

namespace lockstep::ui {
namespace {

QString causeHelp(core::Cause cause) {
    switch (cause) {
    case core::Cause::DataLoading:
        return QObject::tr("waiting for batches and copying them to the device");
    case core::Cause::Compute:
        return QObject::tr("forward, backward and optimizer on the devices");
    case core::Cause::Communication:
        return QObject::tr("communication that nothing overlaps, waiting for other ranks left out");
    case core::Cause::Imbalance:
        return QObject::tr("waiting for other ranks");
    case core::Cause::StartUp:
        return QObject::tr("what is outside of training: launching, evaluating, checkpoints, ending");
    case core::Cause::Unattributed:
        break;
    }
    return QObject::tr("what the measured phases do not explain");
}

} // namespace

QList<WaterfallBar> waterfallBars(const core::Attribution &found, const QColor &reference, const QColor &run) {
    QList<WaterfallBar> bars = {
        {QString::fromStdString(found.reference), found.referenceS, 0, 0, true, false, reference, {}}};
    for (const core::AttributionBar &bar : found.bars) {
        const std::string_view name = core::toString(bar.cause);
        bars.append({QString::fromUtf8(name.data(), qsizetype(name.size())), bar.seconds, bar.low.value_or(bar.seconds),
                     bar.high.value_or(bar.seconds), false, bar.cause == core::Cause::Unattributed, run,
                     causeHelp(bar.cause)});
    }
    bars.append({QString::fromStdString(found.run), found.runS, 0, 0, true, false, run, {}});
    return bars;
}

QString factorLine(const core::FactorEffect &factor, double wholeS) {
    QString line =
        QStringLiteral("%1: %2").arg(QString::fromStdString(factor.label), core::addedSeconds(factor.seconds, wholeS));
    if (factor.high > factor.low)
        line += QObject::tr(" (%1 to %2 by the order of changes)")
                    .arg(core::addedSeconds(factor.low, wholeS), core::addedSeconds(factor.high, wholeS));
    return line;
}

QString factorHelp(const std::vector<core::FactorEffect> &factors) {
    QStringList runs;
    for (const core::FactorEffect &factor : factors)
        for (const std::string &name : factor.controls)
            if (const QString run = QString::fromStdString(name); !runs.contains(run))
                runs.append(run);
    return QObject::tr("Mean over the orders of changes, with the least and the most. Measured with\n") +
           runs.join(QLatin1Char('\n'));
}

} // namespace lockstep::ui
