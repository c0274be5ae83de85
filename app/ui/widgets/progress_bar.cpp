// SPDX-License-Identifier: MIT
#include "app/ui/widgets/progress_bar.h"

#include <QPainter>

#include <algorithm>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {

ProgressBar::ProgressBar(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme) {
    setFixedHeight(grid);
    setMinimumWidth(64);
    connect(&m_theme, &Theme::changed, this, [this] { update(); });
}

void ProgressBar::setFraction(std::optional<double> fraction, const QColor &color) {
    if (fraction == m_fraction && color == m_color)
        return;
    m_fraction = fraction;
    m_color = color;
    update();
}

void ProgressBar::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    const QRectF bar = QRectF(rect()).adjusted(0, 1, 0, -1);
    painter.setBrush(m_theme.palette().selection);
    painter.drawRoundedRect(bar, 3, 3);
    if (!m_fraction)
        return;
    painter.setClipRect(QRectF(bar.left(), bar.top(), bar.width() * std::clamp(*m_fraction, 0.0, 1.0), bar.height()));
    painter.setBrush(m_color);
    painter.drawRoundedRect(bar, 3, 3);
}

} // namespace lockstep::ui

#include "moc_progress_bar.cpp"
