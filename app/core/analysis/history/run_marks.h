// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::core {
class RunStore;

/// Something that happened to a run at a time, marked on its curves.
struct RunMark {
    enum class Kind { Checkpoint, Restart, Alert, EpochEnd };
    Kind kind = Kind::Alert;
    std::int64_t wallUs = 0;
    std::string text; ///< one sentence
    bool error = false;
    bool operator==(const RunMark &) const = default;
};

/// Checkpoints (reported by rank 0), restarts and alerts of a run, by time.
[[nodiscard]] std::vector<RunMark> runMarks(const RunStore &store);
/// When the last rank reported an epoch's end, for complete epochs, by time.
[[nodiscard]] std::vector<RunMark> epochEnds(const RunStore &store);

} // namespace lockstep::core
