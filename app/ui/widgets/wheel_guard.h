// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

class QAbstractScrollArea;

namespace lockstep::ui {

/// While it lives, scrolling a page with the wheel does not change a combo box or slider under the pointer, unless it has the
/// focus. For the whole application.
class WheelGuard : public QObject {
    Q_OBJECT
public:
    explicit WheelGuard(QObject *parent);
    bool eventFilter(QObject *watched, QEvent *event) override;
};

/// Leaves the wheel to the page that this stands on; sideways it still scrolls itself. Call it once or often.
void leaveWheelToPage(QAbstractScrollArea *area);

} // namespace lockstep::ui
