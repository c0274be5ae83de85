// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

namespace lockstep::ui {

/// The name of one of Live's settings in the settings file.
[[nodiscard]] inline QString liveSetting(const char *name) {
    return QStringLiteral("live/") + QLatin1String(name);
}

} // namespace lockstep::ui
