#include "app/ui/charts/line_chart.h"

#include <QCategoryAxis>
#include <QChart>
#include <QCoreApplication>
#include <QGraphicsLayout>
#include <QLineSeries>
#include <QMouseEvent>

#include <algorithm>
#include <cmath>

#include "analysis/decimate.h"
#include "analysis/format.h"
#include "app/ui/charts/chart_menu.h"
#include "app/ui/charts/end_labels.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

QPen penOf(const LineData &line, const Palette &palette) {
    QPen pen(line.faint ? mix(palette.surface, line.color, 0.35) : line.color);
    pen.setWidthF(line.faint ? 1.0 : line.style == Qt::DotLine ? 1.6 : 2.0);
    pen.setStyle(line.style);
    pen.setCapStyle(Qt::RoundCap);
    pen.setJoinStyle(Qt::RoundJoin);
    return pen;
}

void setTicks(QCategoryAxis *axis, const Ticks &ticks) {
    // An axis' categories are its labels at their upper ends: with labels on the value they are plain ticks.
    if (axis->categoriesLabels() != ticks.labels || axis->count() != int(ticks.at.size()) ||
        axis->property("at").value<QList<double>>() != ticks.at) {
        for (const QString &label : axis->categoriesLabels())
            axis->remove(label);
        axis->setStartValue(ticks.low);
        for (qsizetype i = 0; i < ticks.at.size(); ++i)
            axis->append(ticks.labels[i], ticks.at[i]);
        axis->setProperty("at", QVariant::fromValue(ticks.at));
    }
    axis->setRange(ticks.low, ticks.high);
}

} // namespace

LineChart::LineChart(const Theme &theme, QString name, QWidget *parent)
    : QChartView(new QChart, parent), m_theme(theme), m_name(std::move(name)), m_x(new QCategoryAxis(this)),
      m_y(new QCategoryAxis(this)) {
    setFrameShape(QFrame::NoFrame);
    setRenderHint(QPainter::Antialiasing);
    setMouseTracking(true);
    viewport()->setMouseTracking(true);
    setAccessibleName(m_name);
    chart()->legend()->hide();
    chart()->setAnimationOptions(QChart::NoAnimation);
    chart()->setDropShadowEnabled(false);
    chart()->setBackgroundRoundness(0);
    chart()->layout()->setContentsMargins(0, 0, 0, 0);
    chart()->addAxis(m_x, Qt::AlignBottom);
    chart()->addAxis(m_y, Qt::AlignLeft);
    for (QCategoryAxis *axis : {m_x, m_y})
        axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
    restyle();
    connect(&m_theme, &Theme::changed, this, &LineChart::restyle);
    installChartMenu(this, this);
}

void LineChart::restyle() {
    const Palette &p = m_theme.palette();
    setBackgroundBrush(Qt::NoBrush);
    viewport()->setAutoFillBackground(false);
    setStyleSheet(QStringLiteral("background: transparent;"));
    chart()->setBackgroundVisible(false);
    chart()->setPlotAreaBackgroundVisible(false);
    for (QCategoryAxis *axis : {m_x, m_y}) {
        axis->setLabelsFont(Theme::figures(Type::Small));
        axis->setLabelsColor(p.textMuted);
        axis->setTitleFont(Theme::font(Type::Small));
        axis->setTitleBrush(p.textMuted);
        axis->setGridLinePen(QPen(p.grid, 1));
        axis->setLinePen(QPen(p.border, 1));
    }
    m_x->setGridLineVisible(false);
    m_y->setLineVisible(false);
    rebuild();
}

void LineChart::setAxisTitles(const QString &x, const QString &y) {
    if (x == m_xTitle && y == m_yTitle)
        return;
    m_xTitle = x;
    m_yTitle = y;
    m_x->setTitleText(x);
    m_y->setTitleText(y);
}

void LineChart::setXRange(std::optional<double> low, std::optional<double> high) {
    if (low == m_xLow && high == m_xHigh)
        return;
    m_xLow = low;
    m_xHigh = high;
    rebuild();
}

void LineChart::setEmptyText(const QString &text) {
    m_empty = text;
    viewport()->update();
}

void LineChart::setLines(const QList<LineData> &lines) {
    if (lines == m_lines)
        return;
    m_lines = lines;
    rebuild();
}

void LineChart::setLogAxis(bool log) {
    if (m_log == log)
        return;
    m_log = log;
    rebuild();
}

void LineChart::rebuild() {
    layOut();
    updateAxes();
    updateSeries();
    viewport()->update();
}

void LineChart::layOut() {
    chart()->setMargins(QMargins(0, 8, endLabelWidth() + 8, 0));
}

void LineChart::updateAxes() {
    double xLow = INFINITY, xHigh = -INFINITY, yLow = INFINITY, yHigh = -INFINITY;
    for (const LineData &line : m_lines)
        for (const QPointF &p : line.points) {
            if (!std::isfinite(p.x()) || !std::isfinite(p.y()) || (m_log && p.y() <= 0))
                continue;
            xLow = std::min(xLow, p.x());
            xHigh = std::max(xHigh, p.x());
            yLow = std::min(yLow, p.y());
            yHigh = std::max(yHigh, p.y());
        }
    const bool empty = !(xHigh >= xLow);
    if (empty)
        xLow = 0, xHigh = 1, yLow = m_log ? 0.1 : 0, yHigh = 1;
    xLow = m_xLow.value_or(xLow);
    xHigh = std::max(m_xHigh.value_or(xHigh), xHigh);
    if (m_zeroBased && !m_log)
        yLow = 0;
    const QSizeF plot = chart()->plotArea().size();
    const int xTicks = std::clamp(int(plot.width() / 90), 2, 8), yTicks = std::clamp(int(plot.height() / 48), 2, 6);
    const Ticks x = m_wholeX ? wholeTicks(xLow, xHigh, xTicks) : niceTicks(xLow, xHigh, xTicks, false);
    const Ticks y = m_log ? logTicks(yLow * 0.9, yHigh * 1.1, yTicks) : niceTicks(yLow, yHigh, yTicks, true);
    m_xFrom = x.low, m_xTo = x.high, m_yFrom = y.low, m_yTo = y.high;
    setTicks(m_x, x);
    setTicks(m_y, y);
    for (QCategoryAxis *axis : {m_x, m_y})
        axis->setVisible(!empty);
}

void LineChart::updateSeries() {
    QHash<QString, QLineSeries *> before;
    before.swap(m_series);
    const int columns = std::max(100, int(chart()->plotArea().width()));
    for (const LineData &line : m_lines) {
        QLineSeries *series = before.take(line.key);
        if (!series) {
            series = new QLineSeries(this);
            chart()->addSeries(series);
            series->attachAxis(m_x);
            series->attachAxis(m_y);
        }
        m_series.insert(line.key, series);
        QList<QPointF> points = core::decimateMinMax(line.points, columns);
        if (m_log) {
            points.removeIf([](const QPointF &p) { return p.y() <= 0; });
            for (QPointF &p : points)
                p.setY(std::log10(p.y()));
        }
        series->setPen(penOf(line, m_theme.palette()));
        series->setPointsVisible(line.markers && !line.faint && points.size() <= columns / 6);
        series->setMarkerSize(3);
        series->replace(points);
    }
    for (QLineSeries *gone : before) {
        chart()->removeSeries(gone);
        delete gone;
    }
}

qsizetype LineChart::drawnPoints() const {
    qsizetype count = 0;
    for (const QLineSeries *series : m_series)
        count += series->count();
    return count;
}

QPointF LineChart::toPlot(const QPointF &value) const {
    const QRectF area = chart()->plotArea();
    const double y = m_log ? std::log10(std::max(value.y(), 1e-300)) : value.y();
    return {area.left() + (value.x() - m_xFrom) / (m_xTo - m_xFrom) * area.width(),
            area.bottom() - (y - m_yFrom) / (m_yTo - m_yFrom) * area.height()};
}

namespace {
QString endTextOf(const LineData &line) {
    if (!line.endText.isEmpty() || line.points.isEmpty())
        return line.endText;
    return core::significant(line.points.constLast().y());
}

/// A name stands for all repeats of its run: only published lines keep their dots.
Qt::PenStyle endStyleOf(const LineData &line) {
    return line.style == Qt::DotLine ? Qt::DotLine : Qt::SolidLine;
}
} // namespace

int LineChart::endLabelWidth() const {
    QList<EndLabel> labels;
    for (const LineData &line : m_lines)
        if (line.labelled && !line.faint && !line.points.isEmpty())
            labels.append({0, line.name, endTextOf(line), line.color, endStyleOf(line)});
    return labels.isEmpty() ? 8 : int(std::ceil(endLabelsWidth(labels)));
}

void LineChart::drawEndLabels(QPainter *painter) const {
    const QRectF area = chart()->plotArea();
    QList<EndLabel> labels;
    for (const LineData &line : m_lines) {
        if (!line.labelled || line.faint || line.points.isEmpty())
            continue;
        const QPointF last = line.points.constLast();
        const double y = std::isfinite(last.y()) ? toPlot(last).y() : area.top();
        labels.append(
            {std::clamp(y, area.top(), area.bottom()), line.name, endTextOf(line), line.color, endStyleOf(line)});
    }
    paintEndLabels(painter, labels, area, m_theme.palette());
}

void LineChart::drawCrosshair(QPainter *painter) const {
    const QRectF area = chart()->plotArea();
    if (!m_pointer || !area.contains(*m_pointer))
        return;
    const double x = m_xFrom + (m_pointer->x() - area.left()) / area.width() * (m_xTo - m_xFrom);
    QList<EndLabel> read;
    double at = NAN;
    for (const LineData &line : m_lines) {
        if (line.faint || line.points.isEmpty())
            continue;
        auto next = std::lower_bound(line.points.begin(), line.points.end(), x,
                                     [](const QPointF &p, double value) { return p.x() < value; });
        if (next == line.points.end() || (next != line.points.begin() && x - (next - 1)->x() < next->x() - x))
            --next;
        if (std::isnan(at) || std::abs(next->x() - x) < std::abs(at - x))
            at = next->x();
        read.append({0, line.name, core::significant(next->y()), line.color, line.style});
    }
    if (read.isEmpty())
        return;
    const double px = toPlot({at, 1}).x();
    painter->setPen(QPen(m_theme.palette().textMuted, 1, Qt::DashLine));
    painter->drawLine(QPointF(px, area.top()), QPointF(px, area.bottom()));
    paintReadout(painter, QStringLiteral("%1 %2").arg(m_xTitle, core::significant(at, 4)), read, px, area,
                 m_theme.palette());
}

void LineChart::drawForeground(QPainter *painter, const QRectF &) {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (m_series.isEmpty() || drawnPoints() == 0) {
        painter->setFont(Theme::font(Type::Body));
        painter->setPen(m_theme.palette().textMuted);
        painter->drawText(sceneRect().adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap, m_empty);
    } else {
        drawEndLabels(painter);
        drawCrosshair(painter);
    }
    painter->restore();
}

void LineChart::resizeEvent(QResizeEvent *event) {
    QChartView::resizeEvent(event);
    rebuild();
}

void LineChart::mouseMoveEvent(QMouseEvent *event) {
    m_pointer = event->position();
    viewport()->update();
    QChartView::mouseMoveEvent(event);
}

void LineChart::leaveEvent(QEvent *event) {
    m_pointer.reset();
    viewport()->update();
    QChartView::leaveEvent(event);
}

QString LineChart::chartData() const {
    QString out = QStringLiteral("series\t%1\t%2\n").arg(m_xTitle, m_yTitle);
    for (const LineData &line : m_lines)
        for (const QPointF &p : line.points)
            if (!line.faint)
                out += QStringLiteral("%1\t%2\t%3\n")
                           .arg(line.name, QString::number(p.x(), 'g', 12), QString::number(p.y(), 'g', 12));
    return out;
}

void LineChart::renderChart(QPainter *painter, const QSize &size) {
    // A copy of its own size: a page that was never shown has no layout yet, and a shown one must not flicker.
    LineChart copy(m_theme, m_name);
    copy.setAttribute(Qt::WA_DontShowOnScreen);
    copy.setAxisTitles(m_xTitle, m_yTitle);
    copy.setEmptyText(m_empty);
    copy.m_wholeX = m_wholeX;
    copy.m_zeroBased = m_zeroBased;
    copy.m_log = m_log;
    copy.m_xLow = m_xLow;
    copy.m_xHigh = m_xHigh;
    copy.m_lines = m_lines;
    copy.resize(size - QSize(2 * exportMargin, 2 * exportMargin));
    copy.show();
    // The labels' width makes the plot's, which makes the number of ticks.
    for (int turn = 0; turn < 2; ++turn) {
        copy.rebuild();
        QCoreApplication::sendPostedEvents(copy.chart(), QEvent::LayoutRequest);
    }
    painter->fillRect(QRect(QPoint(), size), m_theme.palette().surface);
    copy.render(painter, QRectF(QPointF(exportMargin, exportMargin), QSizeF(copy.size())), copy.viewport()->rect());
}

} // namespace lockstep::ui
