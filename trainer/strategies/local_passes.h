// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "trainer/models/model.h"
#include "trainer/report/phase_clock.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// The forward and backward passes of a rank's batch, which may be cut into parts that are computed one after another (--accumulate).
/// Used from the training thread.
class LocalPasses {
public:
    LocalPasses(std::shared_ptr<Model> model, PhaseClock &clock, int parts);

    struct Loss {
        torch::Tensor toRun;    ///< the last part's, of which backward is still to run
        torch::Tensor reported; ///< mean over the batch's real samples, detached
    };
    /// All passes but the last part's backward, whose gradients are then added to those of the other parts. The sum is the gradient of
    /// the batch's mean loss, times the batch's weight. A batch of fewer samples than parts has a part a sample.
    [[nodiscard]] Loss untilLastBackward(const Batch &batch);

private:
    std::shared_ptr<Model> m_model;
    PhaseClock &m_clock;
    std::int64_t m_parts;
};

} // namespace lockstep::trainer
