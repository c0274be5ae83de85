// SPDX-License-Identifier: MIT
#include "app/ui/charts/bar_chart.h"

#include <QBarCategoryAxis>
#include <QBarSet>
#include <QCategoryAxis>
#include <QChart>
#include <QCoreApplication>
#include <QGraphicsLayout>
#include <QHelpEvent>
#include <QHorizontalStackedBarSeries>
#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "app/ui/charts/chart_menu.h"
#include "app/ui/charts/ticks.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/first_rows.h"
#include "app/ui/widgets/name_lines.h"
#include "base/format.h"

namespace lockstep::ui {
namespace {
constexpr int leftOutRoom = 20; ///< px that the line about rows left out takes
constexpr int tickRoom = 80;    ///< px from one tick to the next, at least
} // namespace

BarChart::BarChart(const Theme &theme, QString name, QWidget *parent)
    : QChartView(new QChart, parent), m_theme(theme), m_name(std::move(name)),
      m_series(new QHorizontalStackedBarSeries(this)), m_rows(new QBarCategoryAxis(this)),
      m_values(new QCategoryAxis(this)) {
    setFrameShape(QFrame::NoFrame);
    setRenderHint(QPainter::Antialiasing);
    chart()->legend()->hide();
    chart()->setAnimationOptions(QChart::NoAnimation);
    chart()->setDropShadowEnabled(false);
    chart()->setBackgroundRoundness(0);
    chart()->layout()->setContentsMargins(0, 0, 0, 0);
    m_series->setBarWidth(0.62);
    chart()->addSeries(m_series);
    chart()->addAxis(m_rows, Qt::AlignLeft);
    chart()->addAxis(m_values, Qt::AlignBottom);
    m_series->attachAxis(m_rows);
    m_series->attachAxis(m_values);
    m_values->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
    m_values->setTruncateLabels(false);
    restyle();
    connect(&m_theme, &Theme::changed, this, &BarChart::restyle);
    installChartMenu(this, this);
}

void BarChart::restyle() {
    const Palette &p = m_theme.palette();
    setBackgroundBrush(Qt::NoBrush);
    setStyleSheet(QStringLiteral("background: transparent;"));
    chart()->setBackgroundVisible(false);
    chart()->setPlotAreaBackgroundVisible(false);
    m_values->setLabelsFont(Theme::figures(Type::Small));
    m_values->setLabelsColor(p.textMuted);
    m_values->setTitleFont(Theme::font(Type::Small));
    m_values->setTitleBrush(p.textMuted);
    m_values->setGridLinePen(QPen(p.grid, 1));
    m_values->setLineVisible(false);
    // Drawn by drawForeground; invisible labels keep room for the first label of the other axis.
    m_rows->setLabelsColor(Qt::transparent);
    m_rows->setGridLineVisible(false);
    m_rows->setLinePen(QPen(p.border, 1));
    rebuild();
}

void BarChart::setAxisTitle(const QString &title) {
    m_title = title;
    m_values->setTitleText(title);
}

void BarChart::setMark(std::optional<double> at) {
    m_mark = at;
    viewport()->update();
}

void BarChart::setEmptyText(const QString &text) {
    if (text == m_empty)
        return;
    m_empty = text;
    viewport()->update();
}

void BarChart::setBars(const QList<BarData> &bars) {
    if (bars == m_bars)
        return;
    const QSize before = sizeHint();
    m_bars = bars;
    rebuild();
    if (sizeHint() != before)
        updateGeometry();
}

QSize BarChart::sizeHint() const {
    return {480, 56 + int(std::max<qsizetype>(2, rows())) * 26 + (rows() < m_bars.size() ? leftOutRoom : 0)};
}

double BarChart::nameWidth() const {
    const QFontMetricsF metrics(Theme::font(Type::Small, QFont::DemiBold));
    double widest = 0;
    for (qsizetype i = 0; i < rows(); ++i)
        widest = std::max(widest, metrics.horizontalAdvance(paintedName(m_bars[i].name)));
    return std::min(widest + 4, width() * 0.42);
}

void BarChart::rebuild() {
    m_series->clear();
    m_rows->clear();
    double high = m_mark.value_or(0);
    double valueWidth = 0;
    const QFontMetricsF metrics(Theme::figures(Type::Small, QFont::DemiBold));
    QStringList labels;
    const qsizetype count = rows();
    for (qsizetype i = 0; i < count; ++i) {
        const BarData &bar = m_bars[i];
        if (bar.value && std::isfinite(*bar.value))
            high = std::max({high, *bar.value, bar.high.value_or(0)});
        if (bar.value)
            valueWidth = std::max(valueWidth, metrics.horizontalAdvance(bar.text));
        labels.append(QString::number(count - 1 - i)); // the axis grows upwards; its labels are hidden
    }
    // One set a row, so that each bar has its own colour. All at once: the series lays out every bar again after each append.
    QList<QBarSet *> sets;
    for (qsizetype i = 0; i < count; ++i) {
        const BarData &bar = m_bars[i];
        auto *set = new QBarSet(bar.name);
        for (qsizetype row = count - 1; row >= 0; --row)
            set->append(row == i ? bar.value.value_or(0) : 0);
        sets.append(set);
    }
    m_series->append(sets);
    shade();
    m_rows->append(labels);
    const QMargins margins(int(nameWidth()) + 4, 4, int(valueWidth) + 16, count < m_bars.size() ? leftOutRoom : 0);
    chart()->setMargins(margins);
    const bool empty = high <= 0;
    for (const QString &label : m_values->categoriesLabels())
        m_values->remove(label);
    const int room = width() - margins.left() - margins.right(); // the plot's area is laid out later
    const Ticks ticks = niceTicks(0, empty ? 1 : high, std::clamp(room / tickRoom, 2, 6), true);
    m_values->setStartValue(0);
    for (qsizetype i = 0; i < ticks.at.size(); ++i)
        m_values->append(ticks.labels[i], ticks.at[i]);
    m_high = ticks.high;
    m_values->setRange(0, m_high);
    m_values->setVisible(!m_bars.isEmpty());
    m_rows->setVisible(!m_bars.isEmpty());
    viewport()->update();
}

void BarChart::shade() {
    const QList<QBarSet *> sets = m_series->barSets();
    for (qsizetype i = 0; i < sets.size(); ++i) {
        const BarData &bar = m_bars[i];
        const bool pales = m_highlight && !bar.outlined && m_highlight->pales(bar.whose.name); // published ones stay
        const QColor color = pales ? paled(bar.color, m_theme.palette()) : bar.color;
        sets[i]->setBrush(bar.outlined ? QBrush(Qt::transparent) : QBrush(color));
        QPen pen(bar.outlined ? color : QColor(Qt::transparent), bar.outlined ? 1.5 : 0);
        pen.setStyle(bar.outlined ? Qt::DotLine : Qt::NoPen);
        sets[i]->setPen(pen);
    }
}

void BarChart::follow(RunHighlight &highlight) {
    m_highlight = &highlight;
    setMouseTracking(true);
    viewport()->setMouseTracking(true);
    connect(&highlight, &RunHighlight::changed, this, &BarChart::shade);
}

qsizetype BarChart::rowAt(double y) const {
    const QRectF area = chart()->plotArea();
    const double row = std::floor((y - area.top()) / std::max(1.0, area.height()) * double(rows()));
    return row >= 0 && row < double(rows()) ? qsizetype(row) : -1;
}

void BarChart::mouseMoveEvent(QMouseEvent *event) {
    if (const qsizetype row = rowAt(event->position().y()); m_highlight)
        m_highlight->point(row < 0 ? RunHighlight::Run() : m_bars[row].whose);
    QChartView::mouseMoveEvent(event);
}

void BarChart::leaveEvent(QEvent *event) {
    if (m_highlight)
        m_highlight->clear();
    QChartView::leaveEvent(event);
}

double BarChart::rowCentre(qsizetype row) const {
    const QRectF area = chart()->plotArea();
    return area.top() + (double(row) + 0.5) * area.height() / double(std::max<qsizetype>(1, rows()));
}

void BarChart::drawForeground(QPainter *painter, const QRectF &) {
    const Palette &p = m_theme.palette();
    painter->save();
    if (m_bars.isEmpty()) {
        painter->setFont(Theme::font(Type::Body));
        painter->setPen(p.textMuted);
        painter->drawText(sceneRect().adjusted(16, 0, -16, 0), int(Qt::AlignCenter) | Qt::TextWordWrap, m_empty);
        painter->restore();
        return;
    }
    const QRectF area = chart()->plotArea();
    if (m_mark) {
        const double x = area.left() + *m_mark / m_high * area.width();
        painter->setPen(QPen(p.textMuted, 1, Qt::DashLine));
        painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    }
    const QFont names = Theme::font(Type::Small, QFont::DemiBold),
                values = Theme::figures(Type::Small, QFont::DemiBold);
    const double left = nameWidth();
    for (qsizetype i = 0; i < rows(); ++i) {
        const BarData &bar = m_bars[i];
        const double y = rowCentre(i);
        painter->setFont(names);
        painter->setPen(bar.outlined ? p.textSecondary : p.text);
        const double height = std::clamp(area.height() / double(rows()), 16.0, 2 * nameLine);
        paintName(painter, {0, y - height / 2, left, height}, paintedName(bar.name));
        double end = area.left() + bar.value.value_or(0) / m_high * area.width();
        if (bar.value && bar.low && bar.high)
            end = std::max(end, drawWhisker(painter, *bar.low, *bar.high, y));
        painter->setFont(bar.value ? values : Theme::font(Type::Small));
        const QFontMetricsF drawn(painter->font());
        painter->fillRect(QRectF(end + 6, y - 8, drawn.horizontalAdvance(bar.text) + 4, 16), p.surface);
        painter->setPen(bar.value ? p.text : p.textMuted);
        painter->drawText(QRectF(end + 8, y - 10, width() - end - 8, 20), Qt::AlignVCenter | Qt::AlignLeft, bar.text);
    }
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(p.textMuted);
    painter->drawText(QRectF(0, height() - leftOutRoom, width(), leftOutRoom), int(Qt::AlignCenter), leftOutText());
    painter->restore();
}

double BarChart::drawWhisker(QPainter *painter, double low, double high, double y) {
    const QRectF area = chart()->plotArea();
    const double from = area.left() + low / m_high * area.width(), to = area.left() + high / m_high * area.width();
    painter->setPen(QPen(m_theme.palette().text, 1));
    painter->drawLine(QPointF(from, y), QPointF(to, y));
    for (const double x : {from, to})
        painter->drawLine(QPointF(x, y - 4), QPointF(x, y + 4));
    return to;
}

QString BarChart::leftOutText() const {
    return firstRowsText(rows(), m_bars.size());
}

QString BarChart::hintOf(qsizetype row) const {
    const BarData &bar = m_bars[row];
    QString out = QStringLiteral("<b>%1</b> %2").arg(bar.name.toHtmlEscaped(), bar.text.toHtmlEscaped());
    if (bar.low && bar.high)
        out += tr("<br>95 % interval %1-%2").arg(core::significant(bar.low), core::significant(bar.high));
    return bar.hint.isEmpty() ? out : out + QStringLiteral("<br>") + bar.hint.toHtmlEscaped();
}

bool BarChart::viewportEvent(QEvent *event) {
    if (event->type() != QEvent::ToolTip)
        return QChartView::viewportEvent(event);
    const auto *help = static_cast<QHelpEvent *>(event);
    if (const qsizetype row = rowAt(help->pos().y()); row >= 0)
        QToolTip::showText(help->globalPos(), hintOf(row), this);
    else
        QToolTip::hideText();
    return true;
}

void BarChart::resizeEvent(QResizeEvent *event) {
    QChartView::resizeEvent(event);
    rebuild();
}

QString BarChart::chartData() const {
    QString out = QStringLiteral("name\t%1\tlow\thigh\tpublished\n").arg(m_title);
    const auto text = [](std::optional<double> value) { return value ? QString::number(*value, 'g', 9) : QString(); };
    for (const BarData &bar : m_bars)
        out += QStringLiteral("%1\t%2\t%3\t%4\t%5\n")
                   .arg(bar.name, text(bar.value), text(bar.low), text(bar.high),
                        bar.outlined ? QStringLiteral("true") : QStringLiteral("false"));
    return out;
}

void BarChart::renderChart(QPainter *painter, const QSize &size) {
    // As LineChart's: a copy, laid out at its own size.
    BarChart copy(m_theme, m_name);
    copy.setAttribute(Qt::WA_DontShowOnScreen);
    copy.setAxisTitle(m_title);
    copy.setEmptyText(m_empty);
    copy.m_mark = m_mark;
    copy.m_bars = m_bars;
    copy.resize(size - QSize(2 * exportMargin, 2 * exportMargin));
    copy.show();
    for (int turn = 0; turn < 2; ++turn) {
        copy.rebuild();
        QCoreApplication::sendPostedEvents(copy.chart(), QEvent::LayoutRequest);
    }
    painter->fillRect(QRect(QPoint(), size), m_theme.palette().surface);
    copy.render(painter, QRectF(QPointF(exportMargin, exportMargin), QSizeF(copy.size())), copy.viewport()->rect());
}

} // namespace lockstep::ui

#include "moc_bar_chart.cpp"
