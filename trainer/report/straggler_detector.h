// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// The phases of a rank's own work, before it has to wait for others.
inline constexpr std::array ownPhases = {Phase::Load, Phase::H2d, Phase::Forward, Phase::Backward, Phase::Optimizer};

/// What one rank needed from the end of one all-reduce until its own last gradient of the next step was ready,
/// nanoseconds. All-reduce makes every rank's step equally long; these are not.
struct OwnTimes {
    double ready = 0;
    std::array<double, ownPhases.size()> phases{};
    static constexpr std::size_t numbers = 1 + ownPhases.size();
};

/// Names the rank that makes the others wait, and the phase in which it loses time, from the own times of all ranks.
///
/// A disturbance by another tenant of the host looks much like a slow phase: it lasts 20 to 200 steps, and slows
/// backward by up to a half (measured, tests/trainer/jitter). But it slows everything the core does: where a rank's other phases
/// take longer by a factor of s, backward takes longer by s to the power of 1.4 to 1.9. So, step by step, what the lag of the other
/// phases explains is subtracted from the lag of a phase. Over `window` steps, a rank is named for one phase only if
///  - in two thirds of the steps the rest of the phase's lag is over 25 %: steady, unlike a disturbance;
///  - the phase costs the others 5 % of their own time, and they wait as long.
/// A rank that lags by those 5 % in all phases for `lasting` steps is named with the phase of its largest share: then its core is
/// slow, not a phase. A named rank is not named again until it has kept up for `calm` steps.
///
/// A pure function of what add() is given: ranks that learn the same numbers come to the same verdict.
class StragglerDetector {
public:
    static constexpr std::size_t window = 20, every = 5, lasting = 500, calm = 200;

    struct Verdict {
        int rank = 0;
        Phase phase = Phase::Backward;
        bool over = false;       ///< the rank keeps up again
        double readyLaterNs = 0; ///< median of the window
        std::int64_t step = 0;
    };
    explicit StragglerDetector(int ranks);

    /// Every rank's times of one step, in rank order; nothing when there are none.
    [[nodiscard]] std::optional<Verdict> add(std::int64_t step, std::span<const OwnTimes> ranks);

private:
    struct State {
        std::optional<Phase> named;
        std::size_t calmSteps = 0, lateSteps = 0;
    };
    struct Slow {
        Phase phase;
        bool alone; ///< this phase, not the whole rank
        double readyLaterNs;
    };
    using Window = std::array<double, window>;
    /// One number of a rank in each step of the window; `what`: 0 is ready, else 1 + an index in ownPhases.
    [[nodiscard]] Window timesOf(std::size_t rank, std::size_t what) const;
    /// The same of the ranks it is compared with: the lower median of the other ranks, step by step.
    [[nodiscard]] Window othersOf(std::size_t rank, std::size_t what) const;
    /// The rest of a phase's lag in each step of the window, as a logarithm.
    [[nodiscard]] Window ownLagOf(std::size_t rank, std::size_t phase) const;
    [[nodiscard]] bool slowIn(std::size_t rank, std::size_t phase, double othersWhole) const;
    [[nodiscard]] std::optional<Slow> slownessOf(std::size_t rank) const;
    [[nodiscard]] std::optional<Verdict> judge(std::int64_t step);

    std::size_t m_ranks;
    std::vector<OwnTimes> m_ring; ///< window × ranks
    std::size_t m_next = 0, m_filled = 0;
    std::size_t m_sinceJudged = every - 1; ///< the first full window is judged at once
    std::vector<State> m_states;
    mutable std::vector<double> m_scratch;
};

} // namespace lockstep::trainer
