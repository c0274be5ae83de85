// SPDX-License-Identifier: MIT
#pragma once
// The window's pages, in the order of the rail and of Ctrl+1, Ctrl+2 …
#include <QStringList>

#include <array>

namespace lockstep::ui {

enum class Page { Plan, Live, Verdict, Runs, Nodes, Lab };

struct PageSpec {
    Page page;
    const char *name;  ///< for `--page`; also its icon's name
    const char *title; ///< on the rail
    const char *about; ///< the rail's tooltip
};

inline constexpr std::array pageTable{
    PageSpec{Page::Plan, "plan", QT_TRANSLATE_NOOP("MainWindow", "Plan"),
             QT_TRANSLATE_NOOP("MainWindow", "Choose what to run")},
    PageSpec{Page::Live, "live", QT_TRANSLATE_NOOP("MainWindow", "Live"),
             QT_TRANSLATE_NOOP("MainWindow", "Watch it train")},
    PageSpec{Page::Verdict, "verdict", QT_TRANSLATE_NOOP("MainWindow", "Verdict"),
             QT_TRANSLATE_NOOP("MainWindow", "What is worth it here")},
    PageSpec{Page::Runs, "runs", QT_TRANSLATE_NOOP("MainWindow", "Runs"),
             QT_TRANSLATE_NOOP("MainWindow", "All runs so far")},
    PageSpec{Page::Nodes, "nodes", QT_TRANSLATE_NOOP("MainWindow", "Nodes"),
             QT_TRANSLATE_NOOP("MainWindow", "The machines that runs can use")},
    PageSpec{Page::Lab, "lab", QT_TRANSLATE_NOOP("MainWindow", "Lab"),
             QT_TRANSLATE_NOOP("MainWindow", "What communication costs here, and what that means for DDP")},
};

/// The names, in the table's order.
[[nodiscard]] inline QStringList pageNames() {
    QStringList out;
    for (const PageSpec &spec : pageTable)
        out.append(QString::fromLatin1(spec.name));
    return out;
}

} // namespace lockstep::ui
