// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace lockstep::core {

/// How many runs more an experiment's document has room for, before it is larger than what documentOf() allows. Counts each run
/// once instead of writing the whole document after each change, and counts a little more than it takes.
class DocumentRoom {
public:
    explicit DocumentRoom(const Experiment &experiment);
    /// Takes what so many of the run need. A bad argument: they have no room, and nothing was taken.
    [[nodiscard]] Result<void> takeRun(const PlannedRun &run, std::size_t times);
    /// The same for so many rounds of these entries, whose runs are those of the last call.
    [[nodiscard]] Result<void> takeRounds(const Experiment &experiment, const std::vector<int> &entries,
                                          std::size_t rounds);
    [[nodiscard]] std::size_t bytes() const { return m_taken.bytes; } ///< of the document

private:
    /// A document is indented, so it has at least as many lines as values.
    struct Length {
        std::size_t bytes = 0, lines = 0;
    };
    [[nodiscard]] static Length lengthOf(const std::string &text);
    [[nodiscard]] static Length lengthOf(const PlannedRun &run);
    [[nodiscard]] Result<void> take(const Length &one, std::size_t times);

    std::string m_id;
    Length m_taken;
    std::map<int, Length> m_entries; ///< those that rounds were made of
};

} // namespace lockstep::core
