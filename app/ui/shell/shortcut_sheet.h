// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>

namespace lockstep::ui {

/// Every shortcut of the window, read from its buttons and actions, so that the sheet is never out of date.
class ShortcutSheet : public QDialog {
    Q_OBJECT
public:
    explicit ShortcutSheet(QWidget *window);
};

} // namespace lockstep::ui
