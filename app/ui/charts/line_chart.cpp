// SPDX-License-Identifier: MIT
#include "app/ui/charts/line_chart.h"

#include <QAction>
#include <QChart>
#include <QCoreApplication>
#include <QGraphicsLayout>
#include <QHelpEvent>
#include <QPaintEvent>
#include <QToolTip>

#include "app/ui/charts/chart_menu.h"
#include "app/ui/charts/line_input.h"
#include "app/ui/charts/line_painter.h"
#include "app/ui/charts/run_highlight.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/plain_hints.h"

namespace lockstep::ui {

LineChart::LineChart(const Theme &theme, QString name, QWidget *parent)
    : QChartView(new QChart, parent), m_theme(theme), m_name(std::move(name)), m_axes(chart()),
      m_input(new LineInput(m_content, *chart(), viewport())) {
    setMinimumHeight(leastHeight); // QChartView sets a minimum size, which overrides size hints
    setFrameShape(QFrame::NoFrame);
    setRenderHint(QPainter::Antialiasing);
    setMouseTracking(true);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    chart()->legend()->hide();
    chart()->setAnimationOptions(QChart::NoAnimation);
    chart()->setDropShadowEnabled(false);
    chart()->setBackgroundRoundness(0);
    chart()->layout()->setContentsMargins(0, 0, 0, 0);
    // A change in the scene makes the cached pictures stale.
    setViewportUpdateMode(QGraphicsView::NoViewportUpdate);
    connect(scene(), &QGraphicsScene::changed, this, &LineChart::repaintAll);
    connect(chart(), &QChart::plotAreaChanged, this, [this] {
        decimate();
        repaintAll();
    });
    connect(m_input, &LineInput::crosshairMoved, this, &LineChart::crosshairMoved);
    connect(m_input, &LineInput::zoomWanted, this, &LineChart::zoomTo);
    connect(m_input, &LineInput::placeChosen, this, &LineChart::placeChosen);
    connect(m_input, &LineInput::markChosen, this, &LineChart::markChosen);
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
    const auto middle = [this] { return crosshair().value_or((scale().xFrom() + scale().xTo()) / 2); };
    add(tr("Zoom in"), QKeySequence(Qt::CTRL | Qt::Key_Plus), [this, middle] { zoomBy(0.5, middle()); });
    add(tr("Zoom out"), QKeySequence(Qt::CTRL | Qt::Key_Minus), [this, middle] { zoomBy(2, middle()); });
    add(tr("Show all"), QKeySequence(Qt::CTRL | Qt::Key_0), [this] { showAll(); });
}

void LineChart::restyle() {
    setBackgroundBrush(Qt::NoBrush);
    chart()->setBackgroundVisible(false);
    chart()->setPlotAreaBackgroundVisible(false);
    m_axes.restyle(m_theme.palette());
    rebuild();
}

void LineChart::setAxisTitles(const QString &x, const QString &y) {
    if (x == m_content.xTitle && y == m_content.yTitle)
        return;
    if (x != m_content.xTitle) { // another axis: zoom and crosshair no longer apply
        m_content.scale.showAllX();
        setCrosshair({});
    }
    m_content.xTitle = x;
    m_content.yTitle = y;
    m_axes.setTitles(x, y);
}

void LineChart::setXKind(XKind kind) {
    if (m_content.scale.setXKind(kind))
        rebuild();
}

void LineChart::setXRange(std::optional<double> low, std::optional<double> high) {
    if (m_content.scale.setXRange(low, high))
        rebuild();
}

void LineChart::setEmptyText(const QString &text) {
    if (text == m_content.emptyText)
        return;
    m_content.emptyText = text;
    repaintAll();
}

void LineChart::setLines(const QList<LineData> &lines) {
    if (m_content.lines.set(lines))
        rebuild();
}

void LineChart::setMarks(const QList<ChartMark> &marks) {
    if (marks == m_content.marks)
        return;
    m_content.marks = marks;
    m_pictureStale = true;
    viewport()->update();
}

void LineChart::follow(RunHighlight &highlight) {
    m_content.highlight = &highlight;
    connect(m_input, &LineInput::runPointed, &highlight, [&highlight](const QString &runId, const QString &name) {
        highlight.point({runId, name});
    });
    connect(&highlight, &RunHighlight::changed, this, [this] {
        m_pictureStale = true;
        viewport()->update();
    });
}

void LineChart::setLogAxis(bool log) {
    if (!m_content.scale.setLog(log))
        return;
    for (QAction *action : actions())
        if (action->isCheckable())
            action->setChecked(log);
    rebuild();
    Q_EMIT logAxisChanged(log);
}

void LineChart::setCrosshair(std::optional<double> x) {
    m_input->setCrosshair(x);
}

std::optional<double> LineChart::crosshair() const {
    return m_input->crosshair();
}

void LineChart::zoomTo(std::optional<LineScale::Span> x, std::optional<LineScale::Span> y) {
    if (m_content.scale.zoomTo(m_content.lines, x, y))
        rebuild();
}

void LineChart::zoomX(double from, double to) {
    zoomTo(LineScale::Span(from, to), scale().zoomedY());
}

void LineChart::zoomBy(double factor, double x) {
    zoomTo(scale().xZoomedBy(factor, x), scale().zoomedY());
}

void LineChart::showAll() {
    zoomTo({}, {});
}

double LineChart::xAt(double viewX) const {
    return scale().xAt(viewX, chart()->plotArea());
}

void LineChart::fitMargins() {
    const bool above = !m_content.lines.shownText().isEmpty() &&
                       !isShownTextBeside(m_content, chart()->plotArea(), viewport()->width());
    const QMargins margins(0, 8 + (above ? shownTextRow : 0), m_names.width + 8, 0);
    if (chart()->margins() != margins)
        chart()->setMargins(margins);
}

void LineChart::rebuild() {
    m_names = endNames(m_content.lines, size(), m_names.width);
    fitMargins();
    const auto [x, y] = m_content.scale.fit(m_content.lines, chart()->plotArea().size());
    m_axes.setTicks(x, y);
    m_axes.setVisible(!m_content.lines.isEmpty());
    decimate();
    fitMargins(); // the decimated points tell what is left out
    m_pictureStale = true;
    viewport()->update();
}

void LineChart::decimate() {
    m_content.lines.decimate(scale().xFrom(), scale().xTo(), std::max(100, int(chart()->plotArea().width())));
}

void LineChart::repaintAll() {
    m_axesStale = m_pictureStale = true;
    viewport()->update();
}

LinePainter LineChart::painterOf() const {
    return {m_content, chart()->plotArea(), viewport()->rect(), m_names, m_theme.palette()};
}

void LineChart::refreshPictures() {
    const double ratio = viewport()->devicePixelRatioF();
    const QSize size = viewport()->size() * ratio;
    const auto paintInto = [&](QPixmap &picture, const auto &paint) {
        QPainter painter(&picture);
        painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
        paint(&painter);
    };
    if (m_axesStale || m_axesPicture.size() != size) {
        m_axesPicture = QPixmap(size);
        m_axesPicture.setDevicePixelRatio(ratio);
        m_axesPicture.fill(m_theme.palette().surface);
        m_axesOnly = true;
        paintInto(m_axesPicture, [&](QPainter *painter) {
            render(painter, QRectF(QPointF(), QSizeF(viewport()->size())), viewport()->rect());
        });
        m_axesOnly = false;
        m_axesStale = false;
        m_pictureStale = true;
    }
    if (m_pictureStale) {
        m_picture = m_axesPicture;
        paintInto(m_picture, [&](QPainter *painter) { painterOf().paint(painter); });
        m_pictureStale = false;
    }
}

void LineChart::paintEvent(QPaintEvent *event) {
    refreshPictures();
    QPainter painter(viewport());
    painter.setClipRegion(event->region());
    painter.drawPixmap(0, 0, m_picture);
    painter.setRenderHint(QPainter::Antialiasing);
    if (const auto x = crosshair())
        painterOf().paintCrosshair(&painter, *x);
}

/// Used by exports; on screen the axes are painted and cached first.
void LineChart::drawForeground(QPainter *painter, const QRectF &) {
    if (m_axesOnly)
        return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painterOf().paint(painter);
    painter->restore();
}

bool LineChart::viewportEvent(QEvent *event) {
    if (event->type() != QEvent::ToolTip)
        return QChartView::viewportEvent(event);
    const auto *help = static_cast<QHelpEvent *>(event);
    if (const ChartMark *mark = m_input->markAt(help->pos()))
        QToolTip::showText(help->globalPos(), plainHint(mark->text), this);
    else
        QToolTip::hideText();
    return true;
}

void LineChart::resizeEvent(QResizeEvent *event) {
    QChartView::resizeEvent(event);
    m_axesStale = true;
    rebuild();
}

void LineChart::mousePressEvent(QMouseEvent *event) {
    m_input->press(event);
}

void LineChart::mouseMoveEvent(QMouseEvent *event) {
    m_input->move(event);
}

void LineChart::mouseReleaseEvent(QMouseEvent *event) {
    m_input->release(event);
}

void LineChart::mouseDoubleClickEvent(QMouseEvent *event) {
    m_input->doubleClick(event);
}

void LineChart::wheelEvent(QWheelEvent *event) {
    m_input->wheel(event);
}

void LineChart::keyPressEvent(QKeyEvent *event) {
    m_input->key(event);
}

void LineChart::leaveEvent(QEvent *event) {
    m_input->leave();
    QChartView::leaveEvent(event);
}

QString LineChart::chartWords() const {
    return m_content.lines.words(m_content.xTitle, m_content.yTitle);
}

QString LineChart::chartData() const {
    return m_content.lines.table(m_content.xTitle, m_content.yTitle);
}

void LineChart::renderChart(QPainter *painter, const QSize &size) {
    // A copy of its own size: a page that was never shown has no layout yet, and a shown one must not flicker.
    LineChart copy(m_theme, m_name);
    copy.setAttribute(Qt::WA_DontShowOnScreen);
    copy.m_content = m_content;
    copy.m_content.scale.forgetFit();
    copy.m_content.highlight = nullptr;
    copy.m_axes.setTitles(m_content.xTitle, m_content.yTitle);
    copy.resize(size - QSize(2 * exportMargin, 2 * exportMargin));
    copy.show();
    // The labels' width makes the plot's, which makes the number of ticks.
    for (int turn = 0; turn < 2; ++turn) {
        copy.rebuild();
        QCoreApplication::sendPostedEvents(copy.chart(), QEvent::LayoutRequest);
    }
    copy.decimate();
    painter->fillRect(QRect(QPoint(), size), m_theme.palette().surface);
    copy.render(painter, QRectF(QPointF(exportMargin, exportMargin), QSizeF(copy.size())), copy.viewport()->rect());
}

} // namespace lockstep::ui

#include "moc_line_chart.cpp"
