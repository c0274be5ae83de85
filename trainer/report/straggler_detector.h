#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// The phases a rank spends on its own, before it has to wait for others.
inline constexpr std::array ownPhases = {Phase::Load, Phase::H2d, Phase::Forward, Phase::Backward, Phase::Optimizer};

/// What one rank needed from the end of one all-reduce until its own last gradient of the next step was ready,
/// nanoseconds. All-reduce makes every rank's step equally long; these are not.
struct OwnTimes {
    double ready = 0;
    std::array<double, ownPhases.size()> phases{};
    static constexpr std::size_t numbers = 1 + ownPhases.size();
};

/// Names the rank that makes the others wait, and the phase it loses its time in, from the own times of all ranks.
///
/// Medians over `window` steps of how much later a rank was than those it is compared with (the lower median of all: with two
/// ranks the quicker one). A rank is named when
///  - one of its phases took a quarter longer than the others', and a quarter beyond what its other phases lag too: a core
///    that a neighbour on the host slows for a moment slows them all alike, by up to a half (measured);
///  - or all of it lagged for `lasting` steps: then its place is slow, not a phase. It is told with its largest share.
/// In both cases only if the others wait 5 % of their own time for it. A named rank is not named again until it has kept
/// up for `calm` steps.
///
/// A pure function of what add() is given: ranks that learn the same numbers come to the same verdict.
class StragglerDetector {
public:
    static constexpr std::size_t window = 20, every = 5, lasting = 200, calm = 200;

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
    /// How much later a rank was in each step, and the others' median; `what`: 0 is ready, else 1 + an index in ownPhases.
    struct Lateness {
        std::array<double, window> steps{};
        double median = 0, others = 0;
    };
    [[nodiscard]] Lateness latenessOf(std::size_t rank, std::size_t what) const;
    [[nodiscard]] double beyondTheRest(std::size_t rank, std::size_t phase) const;
    [[nodiscard]] std::optional<Slow> slownessOf(std::size_t rank) const;
    [[nodiscard]] std::optional<Verdict> judge(std::int64_t step);

    std::size_t m_ranks;
    std::vector<OwnTimes> m_ring;                                ///< window × ranks
    std::vector<std::array<double, OwnTimes::numbers>> m_others; ///< of each step in the ring
    std::size_t m_next = 0, m_filled = 0;
    std::size_t m_sinceJudged = every - 1; ///< the first full window is judged at once
    std::vector<State> m_states;
    std::vector<double> m_scratch;
};

} // namespace lockstep::trainer
