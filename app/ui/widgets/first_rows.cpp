// SPDX-License-Identifier: MIT
#include "app/ui/widgets/first_rows.h"

#include <QObject>

#include "ipc/thousands.h"

namespace lockstep::ui {

QString firstRowsText(qsizetype shown, qsizetype all) {
    return shown == all ? QString()
                        : QObject::tr("The first %1 of %2 are shown")
                              .arg(QString::fromStdString(thousands(shown)), QString::fromStdString(thousands(all)));
}

} // namespace lockstep::ui
