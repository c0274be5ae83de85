// SPDX-License-Identifier: MIT
#include "app/ui/widgets/dialog_frame.h"

#include <QDialog>
#include <QFrame>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {

QVBoxLayout *frameDialog(QDialog *dialog, int margin) {
    auto *outer = new QVBoxLayout(dialog);
    outer->setContentsMargins(0, 0, 0, 0);
    auto *frame = new QFrame(dialog);
    frame->setObjectName(QStringLiteral("dialogFrame"));
    outer->addWidget(frame);
    auto *body = new QVBoxLayout(frame);
    body->setContentsMargins(margin, margin, margin, margin);
    body->setSpacing(grid);
    return body;
}

} // namespace lockstep::ui
