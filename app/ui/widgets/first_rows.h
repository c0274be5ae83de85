// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

namespace lockstep::ui {

/// Of rows of which not all are shown: "The first 100 of 1,000 are shown". Empty: all are.
[[nodiscard]] QString firstRowsText(qsizetype shown, qsizetype all);

} // namespace lockstep::ui
