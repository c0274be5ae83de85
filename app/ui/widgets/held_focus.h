// SPDX-License-Identifier: MIT
#pragma once
#include <QList>

class QWidget;
class QPushButton;

namespace lockstep::ui {

/// Keeps the keyboard's focus where it is while buttons are disabled or made anew: Qt would give it to whatever comes next. Meanwhile the
/// widget that the buttons stand in has it.
class HeldFocus {
public:
    explicit HeldFocus(QWidget &owner) : m_owner(owner) {}
    /// Before the buttons go or are disabled.
    void hold(const QList<QPushButton *> &buttons);
    /// To the button in the same place, once it is enabled; to none if the focus went elsewhere meanwhile.
    void giveBack(const QList<QPushButton *> &buttons);

private:
    QWidget &m_owner;
    qsizetype m_at = -1;
};

} // namespace lockstep::ui
