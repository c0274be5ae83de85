// SPDX-License-Identifier: MIT
#include "app/ui/charts/anatomy_view.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

QString deviceLabel(const AnatomyRun &run, std::size_t device) {
    return QString::fromStdString(run.anatomy.devices[device].device);
}

/// "½ of the batch, 86 % busy" in figures: "32 of 64 · 86 %".
QString shareText(const core::DpDevice &device) {
    const QString samples = device.share ? core::percent(device.share, 0) : QStringLiteral("-");
    return QObject::tr("%1 of batch · %2 busy").arg(samples, core::percent(device.utilization, 0));
}

QString stageName(const std::string &phase) {
    const QString name = QString::fromStdString(phase);
    return name == QLatin1String("parallel_forward")    ? QObject::tr("forward")
           : name == QLatin1String("parallel_backward") ? QObject::tr("backward")
                                                        : name;
}

bool communicates(const std::string &phase) {
    return phase == "exposed" || phase == "scatter" || phase == "replicate" || phase == "gather" || phase == "reduce";
}

std::optional<double> ownTime(const core::DpDevice &device, const core::DpStage &stage) {
    const auto found = stage.everyDevice ? device.ownS.find(stage.phase) : device.ownS.end();
    return found == device.ownS.end() ? std::nullopt : std::optional(found->second);
}

QString meaningOf(const core::DpStage &stage, bool first, std::optional<double> ownS) {
    const QString what = phaseMeaning(QString::fromStdString(stage.phase));
    if (!stage.everyDevice)
        return first ? what : QObject::tr("this device is idle meanwhile");
    if (ownS)
        return what + QObject::tr("; this device worked for %1 ms of it and waited for the slowest one during the rest")
                          .arg(core::significant(*ownS * 1e3));
    return what + QObject::tr("; all devices work at once. How long each one took wasn't recorded: this is the time "
                              "until the slowest one finished");
}

} // namespace

AnatomyView::AnatomyView(const Theme &theme, QString name, QWidget *parent)
    : PaintedChart(theme, std::move(name), parent) {}

void AnatomyView::setRuns(const QList<AnatomyRun> &runs) {
    if (runs == m_runs)
        return;
    m_runs = runs;
    updateGeometry();
    update();
}

bool AnatomyView::hasUnknown() const {
    for (const AnatomyRun &run : m_runs)
        for (const core::DpDevice &device : run.anatomy.devices)
            for (const core::DpStage &stage : run.anatomy.stages)
                if (stage.everyDevice && !ownTime(device, stage))
                    return true;
    return false;
}

qsizetype AnatomyView::rowCount() const {
    qsizetype rows = 0;
    for (const AnatomyRun &run : m_runs)
        rows += qsizetype(run.anatomy.devices.size());
    return rows;
}

QSize AnatomyView::sizeHint() const {
    return {480, BarRows::heightOf(std::max<qsizetype>(2, rowCount()), 36)};
}

QSize AnatomyView::minimumSizeHint() const {
    return {240, BarRows::leastHeight(std::max<qsizetype>(3, rowCount()))};
}

BarRows AnatomyView::layOut(const QRectF &area) const {
    const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold)), small(Theme::font(Type::Small));
    BarRows out;
    double longest = 0;
    for (const AnatomyRun &run : m_runs) {
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i) {
            out.nameWidth = std::max(out.nameWidth, bold.horizontalAdvance(run.name) + BarRows::gap +
                                                        small.horizontalAdvance(deviceLabel(run, i)));
            out.valueWidth = std::max(out.valueWidth, small.horizontalAdvance(shareText(run.anatomy.devices[i])));
        }
        longest = std::max(longest, run.anatomy.stepS);
    }
    out.high = longest > 0 ? longest * 1e3 : 1;
    out.place(area, rowCount(), 96);
    return out;
}

void AnatomyView::paintStage(QPainter *painter, const AnatomyRun &run, const core::DpStage &stage, const QRectF &box,
                             bool first, std::optional<double> ownS) const {
    const Palette &p = theme().palette();
    if (stage.phase == "wait" || (!first && !stage.everyDevice)) { // idle: a hairline keeps the row readable
        painter->setPen(QPen(p.border, 1));
        painter->drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()));
        return;
    }
    if (ownS && stage.seconds > 0) { // own work, then the wait for the slowest
        const double share = std::clamp(*ownS / stage.seconds, 0.0, 1.0);
        const QRectF work(box.left(), box.top(), box.width() * share, box.height());
        core::DpStage own = stage;
        own.everyDevice = false; // as device 0's own stages are painted: known
        paintStage(painter, run, own, work, true, {});
        painter->setPen(QPen(p.border, 1));
        painter->drawLine(QPointF(work.right(), box.center().y()), QPointF(box.right(), box.center().y()));
        return;
    }
    const bool rest = stage.phase == "other", load = stage.phase == "load" || stage.phase == "h2d";
    const QColor fill = rest                          ? mix(p.surface, p.textMuted, 0.16)
                        : load                        ? mix(p.surface, run.color, 0.28)
                        : communicates(stage.phase)   ? mix(p.surface, run.color, 0.14)
                        : stage.everyDevice && !first ? mix(p.surface, run.color, 0.4)
                                                      : mix(p.surface, run.color, 0.74);
    painter->fillRect(box, fill);
    if (communicates(stage.phase)) {
        painter->fillRect(box, QBrush(mix(p.surface, run.color, 0.6), Qt::BDiagPattern));
    }
    if (!first) { // at most all of it: the slowest device decides how long it is
        painter->setPen(QPen(run.color, 1, Qt::DashLine));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(box.adjusted(0.5, 0.5, -1.5, -0.5));
    }
    painter->fillRect(QRectF(box.right() - 1, box.top(), 1, box.height()), p.surface);
    const QString name = stageName(stage.phase) + (first ? QString() : QStringLiteral(" ?"));
    const double width = QFontMetricsF(painter->font()).horizontalAdvance(name);
    if (width + 10 > box.width())
        return;
    if (communicates(stage.phase))
        painter->fillRect(QRectF(box.center().x() - width / 2 - 3, box.center().y() - 8, width + 6, 16), fill);
    const QColor ink("#14171C"), paper("#FFFFFF");
    painter->setPen(contrastRatio(fill, ink) > contrastRatio(fill, paper) ? ink : paper);
    painter->drawText(box, Qt::AlignCenter, name);
}

void AnatomyView::paintDevice(QPainter *painter, const AnatomyRun &run, std::size_t device, const QRectF &row,
                              const BarRows &rows) const {
    const Palette &p = theme().palette();
    const QFont bold = Theme::font(Type::Small, QFont::DemiBold), small = Theme::font(Type::Small);
    if (device == 0) {
        painter->setFont(bold);
        painter->setPen(p.text);
        painter->drawText(QRectF(row.left(), row.top(), rows.nameWidth, row.height()), Qt::AlignVCenter | Qt::AlignLeft,
                          run.name);
    }
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    painter->drawText(QRectF(row.left(), row.top(), rows.nameWidth, row.height()), Qt::AlignVCenter | Qt::AlignRight,
                      deviceLabel(run, device));
    double x = rows.plot.left();
    for (const core::DpStage &stage : run.anatomy.stages) {
        const double width = stage.seconds * 1e3 / rows.high * rows.plot.width();
        paintStage(painter, run, stage, QRectF(x, row.top() + 3, width, row.height() - 6), device == 0,
                   ownTime(run.anatomy.devices[device], stage));
        x += width;
    }
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    painter->drawText(QRectF(rows.plot.right() + BarRows::gap, row.top(), rows.valueWidth + 2, row.height()),
                      Qt::AlignVCenter | Qt::AlignLeft, shareText(run.anatomy.devices[device]));
}

void AnatomyView::paintChart(QPainter *painter, const QRectF &area) {
    const BarRows rows = layOut(area);
    double y = rows.plot.top();
    for (const AnatomyRun &run : m_runs)
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i) {
            paintDevice(painter, run, i, QRectF(area.left(), y, area.width(), rows.rowHeight), rows);
            y += rows.rowHeight;
        }
    paintAxisBelow(painter, theme().palette(), rows.plot, 0, rows.high,
                   niceTicks(0, rows.high, std::clamp(int(rows.plot.width() / 80), 2, 8), false),
                   tr("time within a step / ms"));
}

QString AnatomyView::hint(const QPointF &position) const {
    const BarRows rows = layOut(rect());
    double y = rows.plot.top();
    for (const AnatomyRun &run : m_runs)
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i, y += rows.rowHeight) {
            if (position.y() < y || position.y() >= y + rows.rowHeight)
                continue;
            const core::DpDevice &device = run.anatomy.devices[i];
            QString out = QStringLiteral("<b>%1 %2</b> · %3")
                              .arg(run.name.toHtmlEscaped(), deviceLabel(run, i), shareText(device));
            if (i > 0 && device.ownS.empty())
                out += tr("<br>has work in at most %1 of a step")
                           .arg(core::percent(run.anatomy.parallelS / run.anatomy.stepS, 0));
            double x = rows.plot.left();
            for (const core::DpStage &stage : run.anatomy.stages) {
                const double width = stage.seconds * 1e3 / rows.high * rows.plot.width();
                if (position.x() >= x && position.x() < x + width)
                    out += QStringLiteral("<br><b>%1</b> %2 ms (%3): %4")
                               .arg(stageName(stage.phase), core::significant(stage.seconds * 1e3),
                                    core::percent(stage.seconds / run.anatomy.stepS, 0),
                                    meaningOf(stage, i == 0, ownTime(device, stage)));
                x += width;
            }
            return out;
        }
    return {};
}

QString AnatomyView::chartData() const {
    QString out = QStringLiteral("run\tdevice\tstage\ttime_per_step_s\tsamples\tutilization\n");
    for (const AnatomyRun &run : m_runs)
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i)
            for (const core::DpStage &stage : run.anatomy.stages) {
                const core::DpDevice &device = run.anatomy.devices[i];
                if (i > 0 && !stage.everyDevice)
                    continue;
                // Without its own time it is only known that the slowest device took that long.
                const auto own = ownTime(device, stage);
                const QString time = own                 ? QString::number(*own, 'g', 9)
                                     : stage.everyDevice ? QStringLiteral("at most %1").arg(stage.seconds, 0, 'g', 9)
                                                         : QString::number(stage.seconds, 'g', 9);
                out +=
                    QStringLiteral("%1\t%2\t%3\t%4\t%5\t%6\n")
                        .arg(run.name, deviceLabel(run, i), QString::fromStdString(stage.phase), time,
                             device.samples ? QString::number(*device.samples) : QStringLiteral("-"),
                             device.utilization ? QString::number(*device.utilization, 'f', 4) : QStringLiteral("-"));
            }
    return out;
}

} // namespace lockstep::ui
