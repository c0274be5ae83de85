// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>

#include "ipc/frames.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// Where this rank is, for its heartbeats: a few atomic stores a step. Steps and phases are noted by the thread that trains,
/// collectives by whichever thread begins or ends one. position() may be called by any thread.
class TrainingPosition {
public:
    void beginStep(std::int64_t step);
    /// The phase that has just ended; what comes next is where the rank is.
    void ended(Phase phase);
    /// One collective from here to its end, which may be noted on another thread. All ranks call it in the same order; what ps-async's
    /// ranks wait for in a step counts as one too, though each comes to it in its own time.
    void enterCollective();
    void leaveCollective();

    [[nodiscard]] RankPosition position() const;

private:
    static constexpr std::int64_t none = -1;
    std::atomic<std::int64_t> m_step{none}, m_phase{none}, m_phaseNs{0};
    std::atomic<std::int64_t> m_entered{0}, m_left{0};
    std::atomic<std::int64_t> m_waitNs{0}; ///< since when the oldest collective that has not ended is under way
};

/// A collective of the calling thread; `position` may be null.
class InCollective {
public:
    explicit InCollective(TrainingPosition *position) : m_position(position) {
        if (m_position)
            m_position->enterCollective();
    }
    ~InCollective() {
        if (m_position)
            m_position->leaveCollective();
    }
    InCollective(const InCollective &) = delete;
    InCollective &operator=(const InCollective &) = delete;

private:
    TrainingPosition *m_position;
};

} // namespace lockstep::trainer
