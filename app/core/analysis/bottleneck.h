#pragma once
// What bounds a run, why that is said, and what to try next.
#include <optional>
#include <string>
#include <vector>

#include "analysis/cell.h"

namespace lockstep::core {

enum class Bound { Unknown, Input, Compute, Communication, Launch, Straggler };
[[nodiscard]] std::string_view toString(Bound bound); ///< "input-bound", …

struct Bottleneck {
    std::string run; ///< the cell's name
    Bound bound = Bound::Unknown;
    std::optional<double> share;    ///< of training time that the bounding phase takes, 0..1
    std::string evidence;           ///< one sentence with its figures
    std::vector<SuggestedRun> tips; ///< most promising first; each can be started as it stands
    bool operator==(const Bottleneck &) const = default;
};
[[nodiscard]] Bottleneck bottleneckOf(const Cell &cell, const std::vector<Cell> &others);

} // namespace lockstep::core
