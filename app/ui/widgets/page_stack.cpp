// SPDX-License-Identifier: MIT
#include "app/ui/widgets/page_stack.h"

#include <QVBoxLayout>

#include "app/ui/widgets/empty_state.h"

namespace lockstep::ui {

PageStack::PageStack(QWidget &page, EmptyState *empty) : QStackedWidget(&page) {
    page.setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(&page);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(this);
    addWidget(empty);
}

void PageStack::setBody(QWidget *body) {
    addWidget(body);
}

} // namespace lockstep::ui
