// SPDX-License-Identifier: MIT
#include "app/ui/charts/anatomy_view.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/phase_style.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

constexpr double leastAnatomyRow = 16, usualAnatomyRow = 30, highestAnatomyRow = 56;
/// The plot width for deciding whether a row needs names above it. Fixed, so that the chart's height does not depend on its
/// width.
constexpr double referencePlot = 560;
constexpr double alike = 0.03; ///< of the longest step: parts that near each other share a name
constexpr double seen = 0.75;  ///< px: narrower parts can't be seen

QString deviceLabel(const AnatomyRun &run, std::size_t device) {
    return QString::fromStdString(run.anatomy.devices[device].device);
}

/// "batch 50 % · busy 86 %": the device's part of the batch, and of the step.
QString shareText(const core::DpDevice &device) {
    const QString samples = device.share ? core::percent(device.share, 0) : QStringLiteral("-");
    return QObject::tr("batch %1 · busy %2").arg(samples, core::percent(device.utilization, 0));
}

QString totalText(const AnatomyRun &run) {
    return QObject::tr("%1 ms").arg(core::significant(run.anatomy.stepS * 1e3));
}

QString meaningOf(const core::DpStage &stage, bool first, std::optional<double> ownS) {
    const QString what = phaseMeaning(QString::fromStdString(stage.phase));
    if (!stage.everyDevice)
        return first ? what : QObject::tr("this device is idle meanwhile");
    if (ownS)
        return what +
               QObject::tr("; busy for %1 ms, then waiting for the slowest device").arg(core::significant(*ownS * 1e3));
    return what + QObject::tr("; the time until the slowest device finished, as each one's own wasn't recorded");
}

bool holdsItsName(const AnatomyPart &part, double width) {
    return QFontMetricsF(Theme::font(Type::Small)).horizontalAdvance(part.name()) + 10 <= width;
}

/// The parts that are too narrow for their names at so many pixels per second. Waits are not among them: the key explains the line.
QList<AnatomyPart> slivers(const QList<AnatomyPart> &parts, double pixelsPerS) {
    QList<AnatomyPart> out;
    for (const AnatomyPart &part : parts)
        if (const double width = part.seconds * pixelsPerS;
            !part.phase.isEmpty() && width >= seen && !holdsItsName(part, width))
            out.append(part);
    return out;
}

} // namespace

AnatomyView::AnatomyView(const Theme &theme, QString name, QWidget *parent)
    : PaintedChart(theme, std::move(name), parent) {}

void AnatomyView::setRuns(const QList<AnatomyRun> &runs) {
    if (runs == m_runs)
        return;
    m_runs = runs;
    arrange();
    updateGeometry();
    update();
}

/// Which rows there are, and which of them get room for names.
void AnatomyView::arrange() {
    m_rows.clear();
    m_longestS = 0;
    for (const AnatomyRun &run : m_runs)
        m_longestS = std::max(m_longestS, run.anatomy.stepS);
    const double pixelsPerS = m_longestS > 0 ? referencePlot / m_longestS : 0;
    QList<AnatomyPart> above; // named over the nearest band
    for (qsizetype i = 0; i < m_runs.size(); ++i)
        for (std::size_t device = 0; device < m_runs[i].anatomy.devices.size(); ++device) {
            Row row{i, device, partsOf(m_runs[i], device), false};
            const QList<AnatomyPart> narrow = slivers(row.parts, pixelsPerS);
            const bool further = device > 0 || m_runs[i].name.isEmpty();
            row.band = !narrow.isEmpty() && !(further && std::ranges::equal(narrow, above, [&](auto &a, auto &b) {
                                                  return a.name() == b.name() &&
                                                         std::abs(a.middleS() - b.middleS()) <= alike * m_longestS;
                                              }));
            if (row.band || !further)
                above = narrow;
            m_rows.append(std::move(row));
        }
}

bool AnatomyView::hasUnknown() const {
    return std::ranges::any_of(m_runs, [](const AnatomyRun &run) {
        return std::ranges::any_of(run.anatomy.devices, [&](const core::DpDevice &device) {
            return std::ranges::any_of(run.anatomy.stages, [&](const core::DpStage &stage) {
                return stage.everyDevice && !ownTime(device, stage);
            });
        });
    });
}

int AnatomyView::heightFor(double rowHeight) const {
    const auto bands = double(std::ranges::count(m_rows, true, &Row::band));
    return BarRows::heightOf(std::max<qsizetype>(2, m_rows.size()), rowHeight) + int(bands * leaderBand);
}

QSize AnatomyView::sizeHint() const {
    return {480, heightFor(usualAnatomyRow)};
}

QSize AnatomyView::minimumSizeHint() const {
    return {240, heightFor(leastAnatomyRow)};
}

QString AnatomyView::footTitle() {
    return tr("time / ms");
}

AnatomyView::Layout AnatomyView::layOut(const QRectF &area) const {
    const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold)), small(Theme::font(Type::Small));
    Layout out;
    for (const AnatomyRun &run : m_runs)
        for (std::size_t i = 0; i < run.anatomy.devices.size(); ++i) {
            out.bars.nameWidth =
                std::max(out.bars.nameWidth, bold.horizontalAdvance(paintedName(run.name)) + BarRows::gap +
                                                 small.horizontalAdvance(deviceLabel(run, i)));
            out.bars.valueWidth =
                std::max(out.bars.valueWidth, small.horizontalAdvance(shareText(run.anatomy.devices[i])));
        }
    out.bars.nameWidth = std::min(out.bars.nameWidth, area.width() * 0.36);
    out.bars.high = m_longestS > 0 ? m_longestS * 1e3 : 1;
    const auto rows = double(std::max<qsizetype>(1, m_rows.size()));
    const auto bands = double(std::ranges::count(m_rows, true, &Row::band));
    const double leastRows = rows * leastAnatomyRow + bands * leaderBand;
    out.bars.footHeight = phaseFootHeight(area.size(), leastRows, footTitle());
    out.bandHeight = area.height() - out.bars.footHeight >= leastRows ? leaderBand : 0;
    const QRectF all(area.left(), area.top(), area.width(), area.height() - bands * out.bandHeight);
    out.bars.place(all, m_rows.size(), highestAnatomyRow, leastAnatomyRow);
    double y = area.top();
    for (const Row &row : m_rows) {
        y += row.band ? out.bandHeight : 0;
        out.tops.append(y);
        y += out.bars.rowHeight;
    }
    out.bars.plot.setBottom(y);
    return out;
}

QRectF AnatomyView::boxOf(const AnatomyPart &part, const BarRows &bars, double top) const {
    const double left = bars.x(part.startS * 1e3);
    return {left, top + 1, bars.x((part.startS + part.seconds) * 1e3) - left, bars.rowHeight - 3};
}

QList<LeaderLabel> AnatomyView::leadersOf(const Row &row, const BarRows &bars) const {
    QList<LeaderLabel> out;
    if (row.band)
        for (const AnatomyPart &part : slivers(row.parts, bars.plot.width() / bars.high * 1e3))
            out.append({bars.x(part.middleS() * 1e3), part.name(), part.seconds});
    return out;
}

QStringList AnatomyView::namesAbove(qsizetype row, int width) const {
    const BarRows bars = layOut(QRectF(0, 0, width, sizeHint().height())).bars;
    QStringList out;
    for (const LeaderLabel &label : placeLeaders(leadersOf(m_rows[row], bars), bars.plot.left(), bars.plot.right()))
        out.append(label.text);
    return out;
}

void AnatomyView::paintPart(QPainter *painter, const AnatomyRun &run, const AnatomyPart &part,
                            const QRectF &box) const {
    const Palette &p = theme().palette();
    painter->setFont(Theme::font(Type::Small));
    if (part.phase.isEmpty()) {
        painter->fillRect(QRectF(box.left(), box.center().y() - 0.5, box.width(), 1), mix(p.border, p.textMuted, 0.4));
        if (!holdsItsName(part, box.width() - 24))
            return;
        const double width = QFontMetricsF(painter->font()).horizontalAdvance(part.name()) + 12;
        painter->fillRect(QRectF(box.center().x() - width / 2, box.top(), width, box.height()), p.surface);
        painter->setPen(p.textMuted);
        painter->drawText(box, int(Qt::AlignCenter) | Qt::TextDontClip, part.name());
        return;
    }
    const QColor color = shadeOf(run.color, run.whose.name);
    const QColor fill = part.atMost ? mix(p.surface, color, 0.4) : phaseFill(part.phase, color, p);
    paintPhase(painter, box, part.phase, color, p);
    if (part.atMost) { // an upper limit: the slowest device determines its length
        painter->fillRect(box, fill);
        painter->setPen(QPen(color, 1, Qt::DashLine));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(box.adjusted(0.5, 0.5, -1.5, -0.5));
    }
    const QString timed = part.name() + QStringLiteral("  ") + core::significant(part.seconds * 1e3);
    if (QFontMetricsF(painter->font()).horizontalAdvance(timed) + 24 <= box.width())
        paintPhaseName(painter, box, timed, part.phase, fill);
    else if (holdsItsName(part, box.width()))
        paintPhaseName(painter, box, part.name(), part.phase, fill);
}

void AnatomyView::paintRow(QPainter *painter, const Row &row, double top, const BarRows &bars) const {
    const Palette &p = theme().palette();
    const AnatomyRun &run = m_runs[row.run];
    const QFont bold = Theme::font(Type::Small, QFont::DemiBold), small = Theme::font(Type::Small);
    const double left = bars.plot.left() - BarRows::gap - bars.nameWidth;
    const QRectF names(left, top, bars.nameWidth, bars.rowHeight);
    const QString device = deviceLabel(run, row.device);
    if (row.device == 0) {
        const double room = bars.nameWidth - QFontMetricsF(small).horizontalAdvance(device) - BarRows::gap;
        painter->setFont(bold);
        painter->setPen(shadeOf(p.text, run.whose.name));
        painter->drawText(names, int(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip,
                          elidedName(paintedName(run.name), QFontMetricsF(bold), room + 1));
    }
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    painter->drawText(names, int(Qt::AlignVCenter | Qt::AlignRight) | Qt::TextDontClip, device);
    for (const AnatomyPart &part : row.parts)
        paintPart(painter, run, part, boxOf(part, bars, top));
    painter->setFont(small);
    painter->setPen(p.textSecondary);
    painter->drawText(QRectF(bars.plot.right() + BarRows::gap, top, bars.valueWidth + 2, bars.rowHeight),
                      int(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip,
                      shareText(run.anatomy.devices[row.device]));
}

/// The axis, its title and the key.
void AnatomyView::paintFoot(QPainter *painter, const QRectF &area, const Layout &layout) const {
    const Palette &p = theme().palette();
    const QRectF plot = layout.bars.plot;
    paintAxisBelow(painter, p, plot, 0, layout.bars.high,
                   niceTicks(0, layout.bars.high, std::clamp(int(plot.width() / 80), 2, 8), false), {});
    paintPhaseFoot(painter, area, plot, footTitle(), layout.bars.footHeight, p);
}

void AnatomyView::paintChart(QPainter *painter, const QRectF &area) {
    const Palette &p = theme().palette();
    const Layout layout = layOut(area);
    const BarRows &bars = layout.bars;
    painter->setPen(QPen(p.grid, 1));
    for (const double at : niceTicks(0, bars.high, std::clamp(int(bars.plot.width() / 80), 2, 8), false).at)
        if (bars.x(at) <= bars.plot.right())
            painter->drawLine(QPointF(bars.x(at), bars.plot.top()), QPointF(bars.x(at), bars.plot.bottom()));
    for (qsizetype i = 0; i < m_rows.size(); ++i) {
        const Row &row = m_rows[i];
        const double top = layout.tops[i];
        paintRow(painter, row, top, bars);
        if (!row.band || layout.bandHeight <= 0)
            continue;
        const QRectF band(bars.plot.left(), top - layout.bandHeight, bars.plot.width(), layout.bandHeight);
        paintLeaders(painter, leadersOf(row, bars), band, top + 1, p);
        if (m_runs[row.run].name.isEmpty() || row.device > 0)
            continue;
        painter->setFont(Theme::figures(Type::Small, QFont::DemiBold));
        painter->setPen(p.text);
        painter->drawText(QRectF(bars.plot.right() + BarRows::gap, band.top(), bars.valueWidth + 2, band.height()),
                          int(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip, totalText(m_runs[row.run]));
    }
    paintFoot(painter, area, layout);
}

QString AnatomyView::hintOf(const Row &row, double ms) const {
    const AnatomyRun &run = m_runs[row.run];
    const core::DpDevice &device = run.anatomy.devices[row.device];
    QString out = QStringLiteral("<b>%1 %2</b> · %3 · %4")
                      .arg(run.name.toHtmlEscaped(), deviceLabel(run, row.device).toHtmlEscaped(),
                           totalText(run) + tr(" a step"), shareText(device));
    if (row.device > 0 && device.ownS.empty())
        out +=
            tr("<br>has work in at most %1 of a step").arg(core::percent(run.anatomy.parallelS / run.anatomy.stepS, 0));
    double startMs = 0;
    for (const core::DpStage &stage : run.anatomy.stages) {
        const double endMs = startMs + stage.seconds * 1e3;
        if (ms >= startMs && ms < endMs)
            out += QStringLiteral("<br><b>%1</b> %2 ms (%3): %4")
                       .arg(phaseName(QString::fromStdString(stage.phase)), core::significant(stage.seconds * 1e3),
                            core::percent(stage.seconds / run.anatomy.stepS, 0),
                            meaningOf(stage, row.device == 0, ownTime(device, stage)));
        startMs = endMs;
    }
    return out;
}

const AnatomyView::Row *AnatomyView::rowAt(const QPointF &position, const Layout &layout) const {
    for (qsizetype i = 0; i < m_rows.size(); ++i)
        if (position.y() >= layout.tops[i] && position.y() < layout.tops[i] + layout.bars.rowHeight)
            return &m_rows[i];
    return nullptr;
}

QString AnatomyView::hint(const QPointF &position) const {
    const Layout layout = layOut(rect());
    const Row *row = rowAt(position, layout);
    const QRectF &plot = layout.bars.plot;
    return row ? hintOf(*row, (position.x() - plot.left()) / plot.width() * layout.bars.high) : QString();
}

RunHighlight::Run AnatomyView::runAt(const QPointF &position) const {
    const Row *row = rowAt(position, layOut(rect()));
    return row ? m_runs[row->run].whose : RunHighlight::Run();
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

#include "moc_anatomy_view.cpp"
