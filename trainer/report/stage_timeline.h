// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ipc/frames.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// When a stage of a pipeline computes within a step: means over steps, in the order of its work. Used from the training thread.
class StageTimeline {
public:
    /// In the step that runs, the stage has computed for a micro-batch between two moments of monotonicNs().
    void add(Phase phase, std::size_t microBatch, std::int64_t startNs, std::int64_t endNs);
    /// The step is over; the first stage began it at `beginNs`. A step of fewer micro-batches than the others, an epoch's last, is left
    /// out.
    void endStep(std::int64_t beginNs);
    /// Writes what was added since the last call into the frame; nothing of a stage with more than mostStageWork parts.
    void moveTo(CommFrame &frame);

private:
    struct Part {
        Phase phase;
        std::size_t microBatch;
        std::int64_t startNs, endNs; ///< in m_sums: added up over the steps, since the beginning of each
    };
    std::vector<Part> m_step, m_sums;
    std::int64_t m_steps = 0;
};

} // namespace lockstep::trainer
