// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "ipc/frames.h"

namespace lockstep::core {

/// One rank's time in training: from its first window of steps on, without the pauses in which it reported another
/// state (evaluating, checkpointing, restarting).
class TrainingClock {
public:
    /// The rank's state changes at `monoNs`, its monotonic clock.
    void onState(std::int64_t monoNs, RunState state);
    /// Seconds of training up to a window that ended at `monoNs`. A rank that sends windows is training, whatever state it reported before.
    [[nodiscard]] double at(std::int64_t monoNs);

private:
    std::optional<std::int64_t> m_from; ///< since when it trains; absent while it pauses
    bool m_begun = false;
    double m_beforeS = 0, m_lastS = 0; ///< up to the last pause; up to the last window
};

} // namespace lockstep::core
