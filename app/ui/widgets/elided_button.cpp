// SPDX-License-Identifier: MIT
#include "app/ui/widgets/elided_button.h"

#include <QHelpEvent>
#include <QStyleOptionButton>
#include <QStylePainter>
#include <QToolTip>

#include <algorithm>

#include "app/ui/widgets/plain_hints.h"

namespace lockstep::ui {

ElidedButton::ElidedButton(const QString &text, int leastWidth, QWidget *parent)
    : QPushButton(text, parent), m_leastWidth(leastWidth) {}

QSize ElidedButton::minimumSizeHint() const {
    QSize size = QPushButton::minimumSizeHint();
    size.setWidth(std::min(size.width(), m_leastWidth));
    return size;
}

QString ElidedButton::shownText() const {
    QStyleOptionButton option;
    initStyleOption(&option);
    const QRect inside = style()->subElementRect(QStyle::SE_PushButtonContents, &option, this);
    return fontMetrics().elidedText(text(), Qt::ElideMiddle, inside.width());
}

bool ElidedButton::event(QEvent *event) {
    if (event->type() != QEvent::ToolTip || shownText() == text())
        return QPushButton::event(event);
    QToolTip::showText(static_cast<QHelpEvent *>(event)->globalPos(), wholeTextHint(text(), toolTip()), this);
    return true;
}

void ElidedButton::paintEvent(QPaintEvent *) {
    QStyleOptionButton option;
    initStyleOption(&option);
    option.text = shownText();
    QStylePainter(this).drawControl(QStyle::CE_PushButton, option);
}

} // namespace lockstep::ui

#include "moc_elided_button.cpp"
