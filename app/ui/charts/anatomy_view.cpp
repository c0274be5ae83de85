#include "app/ui/charts/anatomy_view.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "analysis/format.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr double axisHeight = 34, gap = 8;

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
        return first ? what : QObject::tr("this device has nothing to do meanwhile");
    if (ownS)
        return what + QObject::tr("; this device worked %1 ms of it, the rest it waited for the slowest one")
                          .arg(core::significant(*ownS * 1e3));
    return what + QObject::tr("; all devices work in it at once. How long each of them took is not in the frames: "
                              "this is the time until the slowest one was done");
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

QSize AnatomyView::sizeHint() const {
    qsizetype rows = 0;
    for (const AnatomyRun &run : m_runs)
        rows += qsizetype(run.anatomy.devices.size());
    return {480, int(axisHeight) + int(std::max<qsizetype>(2, rows)) * 36};
}

AnatomyView::Layout AnatomyView::layOut(const QRectF &area) const {
    const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold)), small(Theme::font(Type::Small));
    Layout out{};
    double rows = 0;
    for (const AnatomyRun &run : m_runs) {
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i) {
            out.labelWidth = std::max(out.labelWidth, bold.horizontalAdvance(run.name) + gap +
                                                          small.horizontalAdvance(deviceLabel(run, i)));
            out.shareWidth = std::max(out.shareWidth, small.horizontalAdvance(shareText(run.anatomy.devices[i])));
        }
        rows += double(run.anatomy.devices.size());
        out.stepS = std::max(out.stepS, run.anatomy.stepS);
    }
    out.stepS = out.stepS > 0 ? out.stepS : 1e-3;
    out.rowHeight = std::clamp((area.height() - axisHeight) / std::max(1.0, rows), 18.0, 96.0);
    const double left = area.left() + out.labelWidth + gap;
    out.plot =
        QRectF(left, area.top(), std::max(40.0, area.right() - out.shareWidth - gap - left), out.rowHeight * rows);
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
                              const Layout &layout) const {
    const Palette &p = theme().palette();
    const QFont bold = Theme::font(Type::Small, QFont::DemiBold), small = Theme::font(Type::Small);
    if (device == 0) {
        painter->setFont(bold);
        painter->setPen(p.text);
        painter->drawText(QRectF(row.left(), row.top(), layout.labelWidth, row.height()),
                          Qt::AlignVCenter | Qt::AlignLeft, run.name);
    }
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    painter->drawText(QRectF(row.left(), row.top(), layout.labelWidth, row.height()), Qt::AlignVCenter | Qt::AlignRight,
                      deviceLabel(run, device));
    double x = layout.plot.left();
    for (const core::DpStage &stage : run.anatomy.stages) {
        const double width = stage.seconds / layout.stepS * layout.plot.width();
        paintStage(painter, run, stage, QRectF(x, row.top() + 3, width, row.height() - 6), device == 0,
                   ownTime(run.anatomy.devices[device], stage));
        x += width;
    }
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    painter->drawText(QRectF(layout.plot.right() + gap, row.top(), layout.shareWidth + 2, row.height()),
                      Qt::AlignVCenter | Qt::AlignLeft, shareText(run.anatomy.devices[device]));
}

void AnatomyView::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const Layout layout = layOut(area);
    double y = layout.plot.top();
    for (const AnatomyRun &run : m_runs)
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i) {
            paintDevice(painter, run, i, QRectF(area.left(), y, area.width(), layout.rowHeight), layout);
            y += layout.rowHeight;
        }
    const double stepMs = layout.stepS * 1e3;
    const Ticks ticks = niceTicks(0, stepMs, std::clamp(int(layout.plot.width() / 80), 2, 8), false);
    painter->setFont(Theme::figures(Type::Small));
    for (qsizetype i = 0; i < ticks.at.size(); ++i) {
        const double x = layout.plot.left() + ticks.at[i] / stepMs * layout.plot.width();
        painter->setPen(QPen(p.border, 1));
        painter->drawLine(QPointF(x, layout.plot.bottom()), QPointF(x, layout.plot.bottom() + 4));
        painter->setPen(p.textMuted);
        painter->drawText(QRectF(x - 40, layout.plot.bottom() + 4, 80, 14), Qt::AlignCenter, ticks.labels[i]);
    }
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(p.textMuted);
    painter->drawText(QRectF(layout.plot.left(), layout.plot.bottom() + 18, layout.plot.width(), 16), Qt::AlignCenter,
                      tr("time within a step / ms"));
}

QString AnatomyView::hint(const QPointF &position) const {
    const Layout layout = layOut(rect());
    double y = layout.plot.top();
    for (const AnatomyRun &run : m_runs)
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i, y += layout.rowHeight) {
            if (position.y() < y || position.y() >= y + layout.rowHeight)
                continue;
            const core::DpDevice &device = run.anatomy.devices[i];
            QString out = QStringLiteral("<b>%1 %2</b> · %3")
                              .arg(run.name.toHtmlEscaped(), deviceLabel(run, i), shareText(device));
            if (i > 0 && device.ownS.empty())
                out += tr("<br>has work in at most %1 of a step")
                           .arg(core::percent(run.anatomy.parallelS / run.anatomy.stepS, 0));
            double x = layout.plot.left();
            for (const core::DpStage &stage : run.anatomy.stages) {
                const double width = stage.seconds / layout.stepS * layout.plot.width();
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
