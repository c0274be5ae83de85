// SPDX-License-Identifier: MIT
#include "app/ui/widgets/two_columns.h"

#include <QVBoxLayout>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr int twoColumnsFrom = 1600;

QVBoxLayout *column() {
    auto *out = new QVBoxLayout;
    out->setSpacing(2 * grid);
    return out;
}

} // namespace

TwoColumns::TwoColumns(QWidget *parent)
    : QWidget(parent), m_columns(new QBoxLayout(QBoxLayout::TopToBottom, this)), m_left(column()), m_right(column()) {
    m_columns->setContentsMargins(0, 0, 0, 0);
    m_columns->setSpacing(2 * grid);
    m_columns->addLayout(m_left, 1);
    m_columns->addLayout(m_right, 1);
}

void TwoColumns::addLeft(QWidget *card) {
    m_left->addWidget(card);
}

void TwoColumns::addRight(QWidget *card) {
    m_right->addWidget(card);
}

void TwoColumns::resizeEvent(QResizeEvent *event) {
    QWidget::resizeEvent(event);
    m_columns->setDirection(width() >= twoColumnsFrom ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

} // namespace lockstep::ui
