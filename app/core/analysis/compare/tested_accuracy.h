// SPDX-License-Identifier: MIT
#pragma once
// Test accuracies of two groups that were tested at different times. Pure functions.
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"

namespace lockstep::core {

/// Of the repeats that know theirs, 0 to 1, oldest first; both are empty where the two were never tested alike.
struct ComparedAccuracies {
    std::vector<double> reference, run;
    std::optional<int> epoch; ///< after which all of them were tested; absent: each at its end
};
/// At the end where every repeat was tested there, else after the last epoch after which every one was.
[[nodiscard]] ComparedAccuracies comparedAccuracies(const RepeatGroup &reference, const RepeatGroup &run);

/// "test accuracy is that of epoch 3 of 5, the last one that was tested"; empty: it is that of its end, or none is known.
[[nodiscard]] std::string lastTestInWords(const RunOutcome &run);

} // namespace lockstep::core
