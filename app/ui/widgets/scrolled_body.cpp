// SPDX-License-Identifier: MIT
#include "app/ui/widgets/scrolled_body.h"

#include <QScrollArea>
#include <QTableView>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/wheel_guard.h"

namespace lockstep::ui {

ScrolledBody makeScrolledBody(QWidget *parent) {
    auto *area = new QScrollArea(parent);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    auto *body = new QWidget(area);
    body->setObjectName(QStringLiteral("scrolled"));
    auto *layout = new QVBoxLayout(body);
    layout->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    layout->setSpacing(2 * grid);
    area->setWidget(body);
    return {area, body, layout};
}

void fitHeight(QTableView *table) {
    leaveWheelToPage(table);
    table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table->setFixedHeight(4 * grid + table->model()->rowCount() * 4 * grid + 14);
}

} // namespace lockstep::ui
