// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <torch/types.h>

#include "trainer/engine/rank_session.h"

namespace lockstep::trainer {

/// Notices that this rank's loss is no longer finite, names the first tensor that isn't, or one that isn't afterwards where the first is
/// unknown, and makes all ranks agree on what --on-nonfinite asks for. Used from the training thread.
class DivergenceWatch {
public:
    explicit DivergenceWatch(Session &session);

    /// LOCKSTEP_TEST_NAN=RANK:STEP or RANK:STEP:COUNT: makes that rank's inputs from that step on NaN, one or COUNT, for tests.
    void poison(std::int64_t step, Batch &batch) const;

    /// Call between a step's gradients and its optimizer. On CPU devices the loss is at hand; a GPU's is read later, by the
    /// recorder, which calls onNonFinite().
    void check(std::int64_t step, const Batch &batch, const torch::Tensor &loss);
    /// The first of a stretch of losses that aren't finite: raises the alert.
    void onNonFinite(std::int64_t step, double loss);
    /// Whether this rank wants the step that all ranks agree on to be the last one.
    [[nodiscard]] bool wantsStop() const { return m_found && !goesOn(); }

    /// What all ranks know of a loss that was not finite.
    struct Agreement {
        std::string why;      ///< one sentence: whose loss, since when, the first bad tensor; perhaps of unknown origin
        std::string lastGood; ///< rank 0's newest checkpoint; empty: none yet
    };
    /// Every rank must call it, when no step is under way. Nothing if all losses were finite, or if training is to go on
    /// whatever they are. `newest`: this rank's newest checkpoint.
    [[nodiscard]] std::optional<Agreement> agree(const std::string &newest);
    /// Why training ends, for --on-nonfinite stop.
    [[nodiscard]] static Error end(const Agreement &agreed);
    /// --on-nonfinite rollback: puts the parameters and the optimizer's state of the last good checkpoint into all ranks. An
    /// error if there is none, or if that was done too often.
    [[nodiscard]] Result<void> goBack(const Agreement &agreed);

private:
    struct Found {
        std::int64_t step = 0;
        double loss = 0;
        std::string bad; ///< "the first tensor that is not finite: the input", or what is not finite afterwards
        bool own = true; ///< the input isn't finite, or all parameters, which others' gradients change, still are
    };
    [[nodiscard]] bool stepsAreOrdered() const;
    [[nodiscard]] Found found(std::int64_t step, double loss, const torch::Tensor &inputs);
    [[nodiscard]] bool goesOn() const { return m_session.config.onNonfinite == "continue"; }
    [[nodiscard]] std::string sentence(const Found &it) const;
    [[nodiscard]] bool changesInStep() const;
    [[nodiscard]] std::string whatIsBad(const torch::Tensor &inputs);
    [[nodiscard]] std::string badInState() const;

    Session &m_session;
    std::int64_t m_poisonedFrom = 0, m_poisonedTo = 0; ///< steps, the last one excluded
    std::optional<Found> m_found;                      ///< not dealt with yet
    int m_agreements = 0, m_rollbacks = 0;
};

} // namespace lockstep::trainer
