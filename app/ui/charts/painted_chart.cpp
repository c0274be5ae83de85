// SPDX-License-Identifier: MIT
#include "app/ui/charts/painted_chart.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "app/ui/charts/chart_menu.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {

PaintedChart::PaintedChart(const Theme &theme, QString name, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_name(std::move(name)) {
    connect(&m_theme, &Theme::changed, this, [this] { update(); });
    installChartMenu(this, this);
}

void PaintedChart::setEmptyText(const QString &text) {
    if (text == m_empty)
        return;
    m_empty = text;
    update();
}

void PaintedChart::follow(RunHighlight &highlight) {
    m_highlight = &highlight;
    setMouseTracking(true);
    connect(&highlight, &RunHighlight::changed, this, [this] { update(); });
}

RunHighlight::Run PaintedChart::runAt(const QPointF &) const {
    return {};
}

QColor PaintedChart::shadeOf(const QColor &color, const QString &runName) const {
    return m_highlight && !m_exporting && m_highlight->pales(runName) ? paled(color, m_theme.palette()) : color;
}

void PaintedChart::mouseMoveEvent(QMouseEvent *event) {
    if (m_highlight)
        m_highlight->point(runAt(event->position()));
    QWidget::mouseMoveEvent(event);
}

void PaintedChart::leaveEvent(QEvent *event) {
    if (m_highlight)
        m_highlight->clear();
    QWidget::leaveEvent(event);
}

QString PaintedChart::hint(const QPointF &) const {
    return {};
}

void PaintedChart::paintAll(QPainter *painter, const QRectF &area) {
    painter->setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    if (!isEmpty()) {
        paintChart(painter, area);
        return;
    }
    painter->setFont(Theme::font(Type::Body));
    painter->setPen(m_theme.palette().textMuted);
    painter->drawText(area.adjusted(16, 0, -16, 0), int(Qt::AlignCenter) | Qt::TextWordWrap, m_empty);
}

void PaintedChart::renderChart(QPainter *painter, const QSize &size) {
    const QRectF area(0, 0, size.width(), size.height());
    painter->fillRect(area, m_theme.palette().surface);
    painter->save();
    painter->translate(exportMargin, exportMargin); // pictures are painted from (0, 0)
    m_exporting = true;
    paintAll(painter, QRectF(0, 0, size.width() - 2 * exportMargin, size.height() - 2 * exportMargin));
    m_exporting = false;
    painter->restore();
}

void PaintedChart::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    paintAll(&painter, rect());
}

bool PaintedChart::event(QEvent *event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto *help = static_cast<QHelpEvent *>(event);
    const QString text = hint(help->pos());
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(help->globalPos(), text, this);
    return true;
}

} // namespace lockstep::ui

#include "moc_painted_chart.cpp"
