// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

#include <string>
#include <vector>

namespace lockstep::ui {

/// Of rows of which not all are shown: "The first 100 of 1,000 are shown". Empty: all are.
[[nodiscard]] QString firstRowsText(qsizetype shown, qsizetype all);

/// One sentence a line, each cut at 4 KiB. Of more than 100, or than 32 KiB hold, the first ones, and a line that says so: Qt lays all of
/// a label's text out whenever anything beside it moves.
[[nodiscard]] QString sentenceLines(const std::vector<std::string> &sentences);

} // namespace lockstep::ui
