// SPDX-License-Identifier: MIT
#include "app/ui/widgets/held_focus.h"

#include <QPushButton>

#include <algorithm>

namespace lockstep::ui {
namespace {

/// Also of a window that isn't active just now.
bool hasFocus(const QWidget &widget) {
    return widget.window()->focusWidget() == &widget;
}

} // namespace

void HeldFocus::hold(const QList<QPushButton *> &buttons) {
    const auto focused = std::ranges::find_if(buttons, [](const QPushButton *button) { return hasFocus(*button); });
    if (focused == buttons.end())
        return;
    m_at = focused - buttons.begin();
    m_owner.setFocusPolicy(Qt::TabFocus); // its ring is drawn
    m_owner.setFocus(Qt::OtherFocusReason);
}

void HeldFocus::giveBack(const QList<QPushButton *> &buttons) {
    if (m_at < 0)
        return;
    if (hasFocus(m_owner)) {
        QPushButton *same = buttons.isEmpty() ? nullptr : buttons[std::min(m_at, buttons.size() - 1)];
        if (!same || !same->isEnabled())
            return;
        same->show(); // made anew it is not shown before the next turn of the event loop, and a hidden one takes no focus
        same->setFocus(Qt::OtherFocusReason);
    }
    m_at = -1;
    m_owner.setFocusPolicy(Qt::NoFocus);
}

} // namespace lockstep::ui
