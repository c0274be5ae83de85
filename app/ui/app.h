// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/app_options.h"

namespace lockstep::ui {

/// Runs the program on an existing QApplication: the window, an export or a screenshot. Returns the exit code
/// (0 done, 1 failed, 2 bad arguments).
[[nodiscard]] int runApp(const AppOptions &options);

} // namespace lockstep::ui
