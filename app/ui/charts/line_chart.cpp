// SPDX-License-Identifier: MIT
#include "app/ui/charts/line_chart.h"

#include <QAction>
#include <QCategoryAxis>
#include <QChart>
#include <QCoreApplication>
#include <QGraphicsLayout>
#include <QLineSeries>
#include <QLocale>
#include <QRubberBand>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/chart_menu.h"
#include "app/ui/charts/end_labels.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {

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
      m_y(new QCategoryAxis(this)), m_band(new QRubberBand(QRubberBand::Rectangle, viewport())) {
    setFrameShape(QFrame::NoFrame);
    setRenderHint(QPainter::Antialiasing);
    setMouseTracking(true);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(m_name);
    chart()->legend()->hide();
    chart()->setAnimationOptions(QChart::NoAnimation);
    chart()->setDropShadowEnabled(false);
    chart()->setBackgroundRoundness(0);
    chart()->layout()->setContentsMargins(0, 0, 0, 0);
    chart()->addAxis(m_x, Qt::AlignBottom);
    chart()->addAxis(m_y, Qt::AlignLeft);
    auto *domain = new QLineSeries(this); // axes take their range from the domain of a series
    chart()->addSeries(domain);
    for (QCategoryAxis *axis : {m_x, m_y}) {
        axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
        domain->attachAxis(axis);
    }
    // The pictures are ours to renew: what changes in the scene makes them stale.
    setViewportUpdateMode(QGraphicsView::NoViewportUpdate);
    connect(scene(), &QGraphicsScene::changed, this, &LineChart::repaintAll);
    connect(chart(), &QChart::plotAreaChanged, this, [this] {
        updateParts();
        repaintAll();
    });
    restyle();
    connect(&m_theme, &Theme::changed, this, &LineChart::restyle);
    installChartMenu(this, this);
    addZoomActions();
}

LineChart::~LineChart() {
    scene()->disconnect(this);
    chart()->disconnect(this);
}

void LineChart::addZoomActions() {
    const auto add = [this](const QString &text, const QKeySequence &keys, const auto &what) {
        auto *action = new QAction(text, this);
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, what);
        addAction(action);
    };
    const auto middle = [this] { return m_crosshair.value_or((m_xFrom + m_xTo) / 2); };
    add(tr("Zoom in"), QKeySequence(Qt::CTRL | Qt::Key_Plus), [this, middle] { zoomBy(0.5, middle()); });
    add(tr("Zoom out"), QKeySequence(Qt::CTRL | Qt::Key_Minus), [this, middle] { zoomBy(2, middle()); });
    add(tr("Show all"), QKeySequence(Qt::CTRL | Qt::Key_0), [this] { showAll(); });
}

void LineChart::restyle() {
    const Palette &p = m_theme.palette();
    setBackgroundBrush(Qt::NoBrush);
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
    if (x != m_xTitle) // another axis: what was zoomed to and pointed at means nothing there
        m_viewX.reset(), m_crosshair.reset();
    m_xTitle = x;
    m_yTitle = y;
    m_x->setTitleText(x);
    m_y->setTitleText(y);
}

void LineChart::setXKind(XKind kind) {
    if (kind == m_xKind)
        return;
    m_xKind = kind;
    rebuild();
}

void LineChart::setXRange(std::optional<double> low, std::optional<double> high) {
    if (low == m_xLow && high == m_xHigh)
        return;
    m_xLow = low;
    m_xHigh = high;
    rebuild();
}

void LineChart::setEmptyText(const QString &text) {
    if (text == m_empty)
        return;
    m_empty = text;
    repaintAll();
}

void LineChart::setLines(const QList<LineData> &lines) {
    bool same = lines == m_lines && m_drawn.size() == std::size_t(lines.size());
    for (std::size_t i = 0; same && i < m_drawn.size(); ++i)
        same = m_drawn[i].curve->revision() == m_drawn[i].revision;
    if (same)
        return;
    std::vector<Drawn> drawn;
    for (qsizetype i = 0; i < lines.size(); ++i) {
        Drawn next;
        next.curve = lines[i].curve;
        const bool sameFew =
            !next.curve && i < m_lines.size() && !m_lines[i].curve && m_lines[i].points == lines[i].points;
        if (std::size_t(i) < m_drawn.size() && (sameFew || (next.curve && m_drawn[std::size_t(i)].curve == next.curve)))
            next = std::move(m_drawn[std::size_t(i)]); // its decimated points are brought up to date
        if (!next.curve) {
            auto few = std::make_shared<core::Curve>();
            few->append(lines[i].points);
            next.curve = std::move(few);
        }
        drawn.push_back(std::move(next));
    }
    m_lines = lines;
    m_drawn = std::move(drawn);
    rebuild();
}

void LineChart::setMarks(const QList<ChartMark> &marks) {
    if (marks == m_marks)
        return;
    m_marks = marks;
    m_pictureStale = true;
    viewport()->update();
}

void LineChart::setLogAxis(bool log) {
    if (m_log == log)
        return;
    m_log = log;
    m_viewY.reset();
    for (QAction *action : actions())
        if (action->isCheckable())
            action->setChecked(log);
    rebuild();
    Q_EMIT logAxisChanged(log);
}

void LineChart::rebuild() {
    layOut();
    updateAxes();
    updateParts();
    m_pictureStale = true;
    viewport()->update();
}

void LineChart::repaintAll() {
    m_axesStale = m_pictureStale = true;
    viewport()->update();
}

void LineChart::layOut() {
    const QMargins margins(0, 8, endLabelWidth() + 8, 0);
    if (chart()->margins() != margins)
        chart()->setMargins(margins);
}

std::pair<double, double> LineChart::wholeX() const {
    double low = INFINITY, high = -INFINITY;
    for (const Drawn &drawn : m_drawn) {
        if (drawn.curve->isEmpty())
            continue;
        low = std::min(low, drawn.curve->first().x());
        high = std::max(high, drawn.curve->last().x());
    }
    if (!(high >= low))
        return {m_xLow.value_or(0), m_xHigh.value_or(1)};
    low = m_xLow.value_or(low);
    if (m_xHigh)
        return {low, std::max(*m_xHigh, high)};
    // A growing line moves the axis now and then, not at every point: axes cost more than curves.
    const double span = high - low;
    if (low == m_xFrom && high <= m_xTo && m_xTo <= high + 0.03 * span && !m_viewX)
        return {low, m_xTo};
    return {low,
            low == m_xFrom && high > m_xTo && m_xTo > low && high < m_xTo + 0.1 * span ? high + 0.02 * span : high};
}

void LineChart::updateAxes() {
    const auto [xLow, xHigh] = m_viewX.value_or(wholeX());
    double yLow = INFINITY, yHigh = -INFINITY;
    for (const Drawn &drawn : m_drawn)
        if (const auto found = drawn.curve->extremes(xLow, xHigh)) {
            yLow = std::min(yLow, found->low);
            yHigh = std::max(yHigh, found->high);
        }
    if (!(yHigh >= yLow))
        yLow = m_log ? 0.1 : 0, yHigh = 1;
    if (m_log && yLow <= 0) // what is not above zero has no place on a log axis
        yLow = yHigh > 0 ? yHigh * 1e-4 : 0.1;
    if (m_zeroBased && !m_log)
        yLow = 0;
    const QSizeF plot = chart()->plotArea().size();
    const int xTicks = std::clamp(int(plot.width() / 84), 3, 8), yTicks = std::clamp(int(plot.height() / 48), 2, 6);
    const Ticks x = m_xKind == XKind::Whole      ? wholeTicks(xLow, xHigh, xTicks)
                    : m_xKind == XKind::WallTime ? timeTicks(xLow, xHigh, xTicks)
                    : m_xKind == XKind::Bytes    ? byteTicks(xLow, xHigh, xTicks)
                                                 : niceTicks(xLow, xHigh, xTicks, false);
    Ticks y;
    if (m_viewY)
        y = m_log ? logTicks(std::pow(10, m_viewY->first), std::pow(10, m_viewY->second), yTicks)
                  : niceTicks(m_viewY->first, m_viewY->second, yTicks, false);
    else
        y = m_log ? logTicks(yLow * 0.9, yHigh * 1.1, yTicks) : niceTicks(yLow, yHigh, yTicks, true);
    m_xFrom = x.low, m_xTo = x.high, m_yFrom = y.low, m_yTo = y.high;
    setTicks(m_x, x);
    setTicks(m_y, y);
    m_isEmpty = std::all_of(m_drawn.begin(), m_drawn.end(),
                            [](const Drawn &drawn) { return !drawn.curve->extremes(-INFINITY, INFINITY); });
    for (QCategoryAxis *axis : {m_x, m_y})
        axis->setVisible(!m_isEmpty);
}

void LineChart::updateParts() {
    const int columns = std::max(100, int(chart()->plotArea().width()));
    for (Drawn &drawn : m_drawn) {
        if (drawn.columns == columns && drawn.xFrom == m_xFrom && drawn.xTo == m_xTo) {
            if (drawn.revision != drawn.curve->revision())
                drawn.curve->advance(drawn.part);
        } else {
            drawn.part = drawn.curve->part(m_xFrom, m_xTo, columns);
        }
        drawn.revision = drawn.curve->revision();
        drawn.columns = columns;
        drawn.xFrom = m_xFrom;
        drawn.xTo = m_xTo;
    }
}

qsizetype LineChart::drawnPoints() const {
    qsizetype count = 0;
    for (const Drawn &drawn : m_drawn)
        count += drawn.part.shown;
    return count;
}

QList<QPointF> LineChart::drawnPointsOf(const QString &key) const {
    for (qsizetype i = 0; i < m_lines.size(); ++i)
        if (m_lines[i].key == key)
            return m_drawn[std::size_t(i)].part.points;
    return {};
}

QString LineChart::shownText() const {
    qsizetype shown = 0, held = 0;
    int windows = 1;
    for (qsizetype i = 0; i < m_lines.size(); ++i) {
        if (m_lines[i].faint)
            continue;
        shown += m_drawn[std::size_t(i)].part.shown;
        held += m_drawn[std::size_t(i)].part.held;
        windows = std::max(windows, m_lines[i].windowsAPoint);
    }
    if (shown == held && windows == 1)
        return {};
    QLocale locale = QLocale::c();
    locale.setNumberOptions(QLocale::DefaultNumberOptions); // groups of three
    const QString text = tr("showing %1 of %2 points").arg(locale.toString(shown), locale.toString(held));
    return windows > 1 ? tr("%1, each the mean of up to %2 windows").arg(text).arg(windows) : text;
}

QPointF LineChart::toPlot(const QPointF &value) const {
    const QRectF area = chart()->plotArea();
    const double y = m_log ? std::log10(std::max(value.y(), 1e-300)) : value.y();
    return {area.left() + (value.x() - m_xFrom) / (m_xTo - m_xFrom) * area.width(),
            area.bottom() - (y - m_yFrom) / (m_yTo - m_yFrom) * area.height()};
}

double LineChart::xAt(double viewX) const {
    const QRectF area = chart()->plotArea();
    return m_xFrom + (viewX - area.left()) / std::max(1.0, area.width()) * (m_xTo - m_xFrom);
}

QString LineChart::xText(double x) const {
    if (m_xKind == XKind::WallTime)
        return core::clockTime(std::int64_t(x * 1e6)).left(12);
    if (m_xKind == XKind::Bytes)
        return core::messageSize(std::exp2(x));
    return x == std::floor(x) && std::abs(x) < 1e15 ? QString::number(x, 'f', 0) : core::significant(x, 4);
}

void LineChart::resizeEvent(QResizeEvent *event) {
    QChartView::resizeEvent(event);
    m_axesStale = true;
    rebuild();
}

QString LineChart::chartData() const {
    QString out = QStringLiteral("series\t%1\t%2\n").arg(m_xTitle, m_yTitle);
    for (std::size_t i = 0; i < m_drawn.size(); ++i) {
        const LineData &line = m_lines[qsizetype(i)];
        const core::Curve &curve = line.data ? *line.data : *m_drawn[i].curve;
        for (qsizetype at = 0; at < curve.size() && !line.faint; ++at)
            out += QStringLiteral("%1\t%2\t%3\n")
                       .arg(line.name, QString::number(curve.at(at).x(), 'g', 12),
                            QString::number(curve.at(at).y(), 'g', 12));
    }
    return out;
}

void LineChart::renderChart(QPainter *painter, const QSize &size) {
    // A copy of its own size: a page that was never shown has no layout yet, and a shown one must not flicker.
    LineChart copy(m_theme, m_name);
    copy.setAttribute(Qt::WA_DontShowOnScreen);
    copy.setAxisTitles(m_xTitle, m_yTitle);
    copy.setEmptyText(m_empty);
    copy.m_xKind = m_xKind;
    copy.m_zeroBased = m_zeroBased;
    copy.m_log = m_log;
    copy.m_xLow = m_xLow;
    copy.m_xHigh = m_xHigh;
    copy.m_viewX = m_viewX;
    copy.m_viewY = m_viewY;
    copy.m_lines = m_lines;
    copy.m_drawn = m_drawn;
    copy.m_marks = m_marks;
    copy.resize(size - QSize(2 * exportMargin, 2 * exportMargin));
    copy.show();
    // The labels' width makes the plot's, which makes the number of ticks.
    for (int turn = 0; turn < 2; ++turn) {
        copy.rebuild();
        QCoreApplication::sendPostedEvents(copy.chart(), QEvent::LayoutRequest);
    }
    copy.updateParts();
    painter->fillRect(QRect(QPoint(), size), m_theme.palette().surface);
    copy.render(painter, QRectF(QPointF(exportMargin, exportMargin), QSizeF(copy.size())), copy.viewport()->rect());
}

} // namespace lockstep::ui
