// SPDX-License-Identifier: MIT
#include "app/ui/widgets/elided_label.h"

#include <QHelpEvent>
#include <QPainter>
#include <QStyle>
#include <QStyleOption>
#include <QToolTip>

#include <algorithm>

#include "app/ui/widgets/name_lines.h"
#include "app/ui/widgets/plain_hints.h"

namespace lockstep::ui {

ElidedLabel::ElidedLabel(const char *role, int leastWidth, QWidget *parent, Of of)
    : QLabel(parent), m_leastWidth(leastWidth), m_of(of) {
    setProperty("role", role);
    setTextFormat(Qt::PlainText);
}

QSize ElidedLabel::minimumSizeHint() const {
    QSize size = QLabel::minimumSizeHint();
    size.setWidth(std::min(size.width(), m_leastWidth));
    return size;
}

void ElidedLabel::setLeastWidth(int px) {
    if (px == m_leastWidth)
        return;
    m_leastWidth = px;
    updateGeometry();
}

QString ElidedLabel::shownText() const {
    const int width = contentsRect().width();
    return m_of == Of::Name ? elidedName(text(), fontMetrics(), width)
                            : fontMetrics().elidedText(text(), Qt::ElideRight, width);
}

bool ElidedLabel::isElided() const {
    return fontMetrics().horizontalAdvance(text()) > contentsRect().width();
}

bool ElidedLabel::event(QEvent *event) {
    const QString own = toolTip();
    if (event->type() != QEvent::ToolTip || (own.isEmpty() && !isElided()))
        return QLabel::event(event);
    const QString hint = isElided() ? wholeTextHint(text(), own) : plainHint(own);
    QToolTip::showText(static_cast<QHelpEvent *>(event)->globalPos(), hint, this);
    return true;
}

void ElidedLabel::paintEvent(QPaintEvent *) {
    QStyleOption option;
    option.initFrom(this);
    QPainter painter(this);
    style()->drawItemText(&painter, contentsRect(), int(Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine),
                          option.palette, isEnabled(), shownText(), foregroundRole());
}

} // namespace lockstep::ui

#include "moc_elided_label.cpp"
