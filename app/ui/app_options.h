// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>
#include <QString>
#include <QStringList>

#include "ipc/error.h"

namespace lockstep::ui {

/// The command line options of `lockstep`.
struct AppOptions {
    QString open;     ///< --experiment: experiment or run id
    QString recipe;   ///< --recipe: chosen on Plan
    QString exportTo; ///< --export: folder
    QStringList formats;
    QString screenshot; ///< --screenshot: file
    QString page;       ///< plan | live | verdict | runs | nodes | lab
    QSize size{1280, 800};
    bool dark = false, light = false, quick = false, doctor = false;
    bool help = false, version = false;
    [[nodiscard]] bool offscreen() const { return !exportTo.isEmpty() || !screenshot.isEmpty(); }
};

/// Parses without an application object, so that the platform can be chosen by it.
[[nodiscard]] Result<AppOptions> parseAppOptions(const QStringList &arguments);
[[nodiscard]] QString appHelp();

} // namespace lockstep::ui
