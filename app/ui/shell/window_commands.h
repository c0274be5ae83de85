// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QPointer>
#include <QString>

#include <functional>
#include <vector>

class QWidget;

namespace lockstep::ui {

/// One command of the window, for the palette and the sheet of shortcuts.
struct WindowCommand {
    QString title;     ///< "Start", "Go to Live", "Open DP against DDP, LeNet"
    QKeySequence keys; ///< may be empty
    QString hint;      ///< what it does
    std::function<void()> run;
    bool enabled = true;
    int page =
        -1; ///< the place of the page that has it, in the table of pages; -1: it works on every page, or on several
    bool goesToPage = false; ///< it is one of the rail's
};

/// Every button and action of the window that has a shortcut, in the order of their titles.
[[nodiscard]] std::vector<WindowCommand> windowCommands(const QWidget *window);

} // namespace lockstep::ui
