// SPDX-License-Identifier: MIT
#include "app/ui/charts/lane_view.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/bar_rows.h"
#include "app/ui/charts/lane_strip.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"

namespace lockstep::ui {
namespace {
constexpr double axisHeight = BarRows::axisHeight, laneGap = 4;
constexpr double leastHeight = 14; ///< of a lane
constexpr double headHeight = 16;  ///< of the line with the figures' heads
constexpr double mostNames = 0.3;  ///< of the width, for the runs' names: those of a matrix fit on two lines at 1280 px

/// The sample nearest to a time; none if the nearest is further away than a gap.
std::optional<double> sampleAt(const QList<QPointF> &samples, double at) {
    const auto next =
        std::lower_bound(samples.begin(), samples.end(), at, [](const QPointF &p, double x) { return p.x() < x; });
    const auto near = [&](auto one) { return std::abs(one->x() - at); };
    auto best = next;
    if (next == samples.end() || (next != samples.begin() && near(next - 1) < near(next)))
        best = next == samples.begin() ? next : next - 1;
    if (best == samples.end() || near(best) > 2 * LaneStrip::reachS)
        return std::nullopt;
    return best->y();
}
} // namespace

LaneView::LaneView(const Theme &theme, QString name, QWidget *parent) : PaintedChart(theme, std::move(name), parent) {
    setMouseTracking(true);
}

void LaneView::setMetric(core::DeviceMetric metric, double full) {
    if (!(full > 0))
        full = 1;
    if (metric == m_metric && full == m_full)
        return;
    m_metric = metric;
    m_full = full;
    update();
}

void LaneView::setMeanHead(const QString &head) {
    if (head == m_meanHead)
        return;
    m_meanHead = head;
    update();
}

void LaneView::setCrosshair(const QHash<QString, double> &byRun) {
    if (byRun == m_crosshair)
        return;
    m_crosshair = byRun;
    update();
}

const Lane *LaneView::laneAt(double y) const {
    const Columns columns = layOut(rect());
    const double row = std::floor((y - columns.strip.top()) / columns.laneHeight);
    return row >= 0 && row < double(m_lanes.size()) ? &m_lanes[qsizetype(row)] : nullptr;
}

double LaneView::timeAt(double x) const {
    const QRectF strip = layOut(rect()).strip;
    return std::clamp(m_from + (x - strip.left()) / std::max(1.0, strip.width()) * (m_to - m_from), m_from, m_to);
}

double LaneView::placeOf(double timeS, const QRectF &strip) const {
    return LaneTimes{m_from, m_to}.placeOf(timeS, strip);
}

void LaneView::setMarks(const QList<ChartMark> &marks) {
    if (marks == m_marks)
        return;
    m_marks = marks;
    update();
}

std::pair<qsizetype, qsizetype> LaneView::rowsOf(const QString &runId) const {
    const auto own = [&](const Lane &lane) { return lane.runId == runId; };
    const auto first = std::find_if(m_lanes.begin(), m_lanes.end(), own);
    return {first - m_lanes.begin(), std::find_if_not(first, m_lanes.end(), own) - first};
}

std::optional<QPointF> LaneView::signOf(const ChartMark &mark) const {
    const auto [first, count] = rowsOf(mark.runId);
    if (count == 0 || mark.x < m_from || mark.x > m_to)
        return std::nullopt;
    const Columns columns = layOut(rect());
    return QPointF(placeOf(mark.x, columns.strip),
                   columns.strip.top() + double(first + count) * columns.laneHeight - laneGap / 2);
}

const ChartMark *LaneView::markAt(const QPointF &position) const {
    const ChartMark *best = nullptr;
    double nearest = markSize;
    for (const ChartMark &mark : m_marks)
        if (const auto foot = signOf(mark); foot && mark.kind != ChartMark::Kind::EpochEnd &&
                                            position.y() <= foot->y() + 2 && position.y() >= foot->y() - 2 * markSize)
            if (const double away = std::abs(foot->x() - position.x()); away < nearest) {
                nearest = away;
                best = &mark;
            }
    return best;
}

void LaneView::mouseMoveEvent(QMouseEvent *event) {
    const QRectF strip = layOut(rect()).strip;
    const Lane *lane = strip.contains(event->position()) ? laneAt(event->position().y()) : nullptr;
    if (lane)
        Q_EMIT crosshairMoved(lane->runId, timeAt(event->position().x()));
    else if (!m_crosshair.isEmpty())
        Q_EMIT crosshairLeft();
    PaintedChart::mouseMoveEvent(event);
}

void LaneView::mouseReleaseEvent(QMouseEvent *event) {
    const Lane *lane = laneAt(event->position().y());
    const ChartMark *mark = markAt(event->position());
    if (event->button() == Qt::LeftButton && mark)
        Q_EMIT markChosen(mark->runId, mark->wallUs);
    else if (event->button() == Qt::LeftButton && lane && layOut(rect()).strip.contains(event->position()))
        Q_EMIT placeChosen(lane->runId, timeAt(event->position().x()));
}

void LaneView::keyPressEvent(QKeyEvent *event) {
    const Lane *lane = m_lanes.isEmpty() ? nullptr : &m_lanes.first();
    const int direction = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    if (lane && direction != 0) {
        const double step = (m_to - m_from) / 200 * (event->modifiers() & Qt::ControlModifier ? 10 : 1);
        const double from = m_crosshair.value(lane->runId, direction > 0 ? m_from : m_to);
        Q_EMIT crosshairMoved(lane->runId, std::clamp(from + direction * step, m_from, m_to));
    } else if (event->key() == Qt::Key_Escape) {
        Q_EMIT crosshairLeft();
    } else if (lane && event->key() == Qt::Key_Return && m_crosshair.contains(lane->runId)) {
        Q_EMIT placeChosen(lane->runId, m_crosshair.value(lane->runId));
    } else {
        event->ignore();
    }
}

void LaneView::leaveEvent(QEvent *event) {
    if (!m_crosshair.isEmpty())
        Q_EMIT crosshairLeft();
    PaintedChart::leaveEvent(event);
}

void LaneView::setLanes(const QList<Lane> &lanes, double fromS, double toS, const QString &axisTitle) {
    if (!(toS > fromS))
        toS = fromS + 1;
    if (lanes == m_lanes && fromS == m_from && toS == m_to && axisTitle == m_axisTitle)
        return;
    const QSize least = minimumSizeHint();
    m_lanes = lanes;
    m_from = fromS;
    m_to = toS;
    m_axisTitle = axisTitle;
    if (least != minimumSizeHint())
        updateGeometry();
    update();
}

QSize LaneView::sizeHint() const {
    return {480, BarRows::heightOf(std::max<qsizetype>(3, m_lanes.size()), 30) + int(headHeight)};
}

QSize LaneView::minimumSizeHint() const {
    return {240, BarRows::heightOf(std::max<qsizetype>(4, m_lanes.size()), leastLane()) + int(headHeight)};
}

/// A run with a single lane has a long name on two lines there.
double LaneView::leastLane() const {
    const QFontMetricsF metrics(Theme::font(Type::Small, QFont::DemiBold));
    for (qsizetype i = 0; i < m_lanes.size(); ++i) {
        const auto isRun = [&](qsizetype at) {
            return at >= 0 && at < m_lanes.size() && m_lanes[at].run == m_lanes[i].run;
        };
        if (!isRun(i - 1) && !isRun(i + 1) &&
            metrics.horizontalAdvance(paintedName(m_lanes[i].run)) > BarRows::longName)
            return 2 * nameLine;
    }
    return leastHeight;
}

QList<LaneView::Column> LaneView::figureColumns() const {
    QList<Column> out{{m_crosshair.isEmpty() ? m_meanHead : tr("here"), &Lane::value}};
    if (m_metric != core::DeviceMetric::Utilisation) // else it is what the mean leaves of 100 %
        out.append({tr("idle"), &Lane::idle});
    if (std::ranges::any_of(m_lanes, [](const Lane &lane) { return !lane.others.isEmpty(); }))
        out.append({tr("others"), &Lane::others});
    const QFontMetricsF small(Theme::font(Type::Small)), figures(Theme::figures(Type::Small, QFont::DemiBold));
    for (Column &column : out) {
        // The mean's head may reach over the lanes, where nothing else is written.
        const double head = column.text == &Lane::value ? 0 : small.horizontalAdvance(column.head);
        column.width = std::max(head, figures.horizontalAdvance(QStringLiteral("100 %")));
        for (const Lane &lane : m_lanes)
            column.width =
                std::max(column.width,
                         figures.horizontalAdvance(column.text == &Lane::value ? valueOf(lane) : lane.*column.text));
        column.width += 2;
    }
    return out;
}

LaneView::Columns LaneView::layOut(const QRectF &area) const {
    const QFontMetricsF small(Theme::font(Type::Small)), bold(Theme::font(Type::Small, QFont::DemiBold));
    Columns out;
    for (const Lane &lane : m_lanes) {
        out.runWidth = std::max(out.runWidth, bold.horizontalAdvance(paintedName(lane.run)));
        out.deviceWidth = std::max(out.deviceWidth, small.horizontalAdvance(lane.device));
    }
    out.runWidth = std::min(out.runWidth + 2, area.width() * mostNames);
    out.deviceWidth = std::min(out.deviceWidth + 2, area.width() * 0.2);
    out.figures = figureColumns();
    double right = area.right();
    for (auto column = out.figures.rbegin(); column != out.figures.rend(); ++column) {
        column->left = right - column->width;
        right = column->left - BarRows::gap;
    }
    const double count = double(std::max<qsizetype>(1, m_lanes.size()));
    // Lanes share all the room.
    out.laneHeight = std::max((area.height() - axisHeight - headHeight) / count, leastHeight);
    const double left = area.left() + out.runWidth + BarRows::gap + out.deviceWidth + BarRows::gap;
    out.strip = QRectF(left, area.top() + headHeight, std::max(20.0, right - left), out.laneHeight * count);
    return out;
}

/// At the crosshair while there is one.
QString LaneView::valueOf(const Lane &lane) const {
    const auto at = m_crosshair.constFind(lane.runId);
    return at == m_crosshair.constEnd() ? lane.value : core::metricText(sampleAt(lane.samples, *at), m_metric, m_full);
}

void LaneView::paintCrosshair(QPainter *painter, const Lane &lane, const QRectF &strip) const {
    const auto at = m_crosshair.constFind(lane.runId);
    if (at == m_crosshair.constEnd() || *at < m_from || *at > m_to)
        return;
    const double x = placeOf(*at, strip);
    painter->setPen(QPen(theme().palette().text, 1, Qt::DashLine));
    painter->drawLine(QPointF(x, strip.top() - laneGap / 2), QPointF(x, strip.bottom() + laneGap / 2));
}

void LaneView::paintMarks(QPainter *painter, const Columns &columns) const {
    constexpr double apart = 6; // pixels between two epochs' ends
    QHash<QString, double> lastEnd;
    for (const ChartMark &mark : m_marks) {
        const auto [first, count] = rowsOf(mark.runId);
        if (count == 0 || mark.x < m_from || mark.x > m_to)
            continue;
        const double x = placeOf(mark.x, columns.strip);
        if (mark.kind == ChartMark::Kind::EpochEnd) {
            if (x - lastEnd.value(mark.runId, -apart) < apart)
                continue;
            lastEnd.insert(mark.runId, x);
        }
        const double top = columns.strip.top() + double(first) * columns.laneHeight + laneGap / 2;
        const double foot = columns.strip.top() + double(first + count) * columns.laneHeight - laneGap / 2;
        paintMarkLine(painter, mark, x, top, foot, theme().palette());
        paintMarkSign(painter, mark, x, foot, theme().palette());
    }
}

QStringList LaneView::cutNames() const {
    const QFontMetricsF bold(Theme::font(Type::Small, QFont::DemiBold));
    const double width = layOut(rect()).runWidth;
    QStringList out;
    for (const Lane &lane : m_lanes)
        if (isCutShort(paintedName(lane.run), bold, width) && !out.contains(lane.run))
            out.append(lane.run);
    return out;
}

/// A run's name is written once, across the height of all its lanes.
void LaneView::paintNames(QPainter *painter, const QRectF &area, const Columns &columns) const {
    const Palette &p = theme().palette();
    for (qsizetype i = 0; i < m_lanes.size(); ++i) {
        const Lane &lane = m_lanes[i];
        const double y = columns.strip.top() + double(i) * columns.laneHeight;
        if (i == 0 || lane.run != m_lanes[i - 1].run) {
            const auto end = std::find_if(m_lanes.begin() + i, m_lanes.end(),
                                          [&](const Lane &other) { return other.run != lane.run; });
            const double height = double(end - m_lanes.begin() - i) * columns.laneHeight;
            painter->setFont(Theme::font(Type::Small, QFont::DemiBold));
            painter->setPen(shadeOf(p.text, lane.run));
            // One line stands beside the first lane.
            const bool two = QFontMetricsF(painter->font()).horizontalAdvance(paintedName(lane.run)) > columns.runWidth;
            paintName(painter, {area.left(), y, columns.runWidth, two ? height : columns.laneHeight},
                      paintedName(lane.run));
        }
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(shadeOf(p.textSecondary, lane.run));
        painter->drawText(
            QRectF(area.left() + columns.runWidth + BarRows::gap, y, columns.deviceWidth, columns.laneHeight),
            Qt::AlignVCenter | Qt::AlignLeft,
            QFontMetricsF(painter->font()).elidedText(lane.device, Qt::ElideMiddle, columns.deviceWidth));
    }
}

void LaneView::paintFigures(QPainter *painter, const Columns &columns) const {
    const Palette &p = theme().palette();
    for (const Column &column : columns.figures) {
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(p.textMuted);
        const bool main = column.text == &Lane::value;
        const double left = main ? 0 : column.left; // nothing else stands above the names and lanes
        const QRectF head(left, columns.strip.top() - headHeight, column.left + column.width - left, headHeight);
        painter->drawText(head, Qt::AlignVCenter | Qt::AlignRight,
                          QFontMetricsF(painter->font()).elidedText(column.head, Qt::ElideRight, head.width()));
        painter->setFont(Theme::figures(Type::Small, main ? QFont::DemiBold : QFont::Normal));
        for (qsizetype i = 0; i < m_lanes.size(); ++i) {
            const Lane &lane = m_lanes[i];
            const double y = columns.strip.top() + double(i) * columns.laneHeight;
            painter->setPen(shadeOf(main && !m_crosshair.contains(lane.runId) ? p.text : p.textSecondary, lane.run));
            painter->drawText(QRectF(column.left, y, column.width, columns.laneHeight),
                              Qt::AlignVCenter | Qt::AlignRight, main ? valueOf(lane) : lane.*column.text);
        }
    }
}

void LaneView::paintChart(QPainter *painter, const QRectF &area) {
    const Columns columns = layOut(area);
    paintNames(painter, area, columns);
    const LaneStrip painted(theme().palette(), {m_from, m_to}, m_full);
    for (qsizetype i = 0; i < m_lanes.size(); ++i) {
        const double y = columns.strip.top() + double(i) * columns.laneHeight;
        const QRectF strip(columns.strip.left(), y + laneGap / 2, columns.strip.width(), columns.laneHeight - laneGap);
        const QColor &color = m_lanes[i].noRecentData.isEmpty() ? m_lanes[i].color : theme().palette().textMuted;
        painted.paint(painter, m_lanes[i], shadeOf(color, m_lanes[i].run), strip);
        paintCrosshair(painter, m_lanes[i], strip);
    }
    paintFigures(painter, columns);
    paintMarks(painter, columns);
    paintAxisBelow(painter, theme().palette(), columns.strip, m_from, m_to,
                   niceTicks(m_from, m_to, std::clamp(int(columns.strip.width() / 90), 2, 8), false), m_axisTitle);
}

RunHighlight::Run LaneView::runAt(const QPointF &position) const {
    const Lane *lane = laneAt(position.y());
    return lane ? RunHighlight::Run{lane->runId, lane->run} : RunHighlight::Run();
}

QString LaneView::hint(const QPointF &position) const {
    const Lane *lane = laneAt(position.y());
    const ChartMark *mark = markAt(position);
    return mark ? mark->text.toHtmlEscaped() : lane ? lane->hint : QString();
}

QString LaneView::chartWords() const {
    QStringList out;
    for (const Lane &lane : m_lanes) {
        const QString value = !lane.noRecentData.isEmpty() ? lane.noRecentData
                              : lane.samples.isEmpty()     ? lane.unknown
                                                           : lane.value;
        out.append(QStringLiteral("%1, %2: %3.").arg(lane.run, lane.device, value));
    }
    return out.isEmpty() ? tr("No values yet.") : out.join(u' ');
}

QString LaneView::chartData() const {
    QString out = QStringLiteral("run\tdevice\ttime_s\t%1\n").arg(QLatin1StringView(core::metricName(m_metric)));
    for (const Lane &lane : m_lanes)
        for (const QPointF &p : lane.samples)
            out += QStringLiteral("%1\t%2\t%3\t%4\n")
                       .arg(lane.run, lane.device, QString::number(p.x(), 'f', 3), QString::number(p.y(), 'f', 4));
    return out;
}

} // namespace lockstep::ui

#include "moc_lane_view.cpp"
