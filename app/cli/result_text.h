#pragma once
#include <string>

#include "analysis/judgement.h"
#include "analysis/result_table.h"

namespace lockstep::cli {

/// The result as a terminal shows it: loss and duration per epoch, times, speed-up, accuracy, published figures,
/// what was judged of it, notes.
[[nodiscard]] std::string resultText(const core::ResultTable &table, const core::Judgement &judgement);

} // namespace lockstep::cli
