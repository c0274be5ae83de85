#pragma once
#include <string>

namespace lockstep::core {
struct ResultTable;

/// What the verdict says of what was measured so far; the same on screen, in a terminal and in every export.
struct VerdictText {
    std::string sentence; ///< empty until it can be said; names runs that can't be told apart from the reference
    std::string spread;   ///< the intervals and repeats in words
};
[[nodiscard]] VerdictText verdictText(const ResultTable &table);

} // namespace lockstep::core
