// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace lockstep::core {
class RunStore;

/// Which of some repeats of one run speaks for all where only one can be drawn: of those that are done, the one with the median
/// training time (of two in the middle, the shorter). While none is done, the newest that has steps, else the newest. Null
/// without repeats.
[[nodiscard]] const RunStore *medianRepeat(const std::vector<const RunStore *> &repeats);

/// The median repeat of the runs of one name.
struct NamedRepeat {
    std::string name;
    const RunStore *run = nullptr;
    int repeat = 1, repeats = 1; ///< which of how many
};
/// One of each name, in the order in which names first come.
[[nodiscard]] std::vector<NamedRepeat> medianRepeats(const std::vector<const RunStore *> &runs);

} // namespace lockstep::core
