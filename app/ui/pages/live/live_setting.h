// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

namespace lockstep::ui {

/// What one of Live's settings is called in the settings file.
[[nodiscard]] inline QString liveSetting(const char *name) {
    return QStringLiteral("live/") + QLatin1String(name);
}

} // namespace lockstep::ui
