#pragma once
#include <string>

#include "analysis/result_table.h"

namespace lockstep::cli {

/// The result as a terminal shows it: loss and duration per epoch, times, speed-up, accuracy, published figures, notes.
[[nodiscard]] std::string resultText(const core::ResultTable &table);

} // namespace lockstep::cli
