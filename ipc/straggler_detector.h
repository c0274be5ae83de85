// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/frames.h"
#include "ipc/phases.h"

namespace lockstep {

/// The phases of a rank's own work, before it must wait for others.
inline constexpr std::array ownPhases = {phase::load, phase::h2d, phase::forward, phase::backward, phase::optimizer};

/// What one rank needed from the end of an all-reduce until its own last gradient of the next step was ready, in ns.
/// All-reduce makes every rank's step equally long, but these times differ. `ready` may be more than the phases add up to.
struct OwnTimes {
    double ready = 0;
    std::array<double, ownPhases.size()> phases{};
    static constexpr std::size_t numbers = 1 + ownPhases.size();
};

/// From the own times of all ranks, names the rank that makes the others wait, and the phase in which it loses time.
///
/// A disturbance by another program on the host resembles a slow phase: it lasts 20 to 200 steps and slows backward by
/// up to a half (measured, tests/trainer/jitter). But it slows everything that the core does: if a rank's other phases
/// take longer by a factor of s, backward takes longer by s to the power of 1.4 to 1.9. So in each step, the lag that
/// the other phases explain is subtracted from the lag of a phase. Over `window` steps, a rank is named for one phase
/// only if
///  - in two thirds of the steps the rest of the phase's lag is over 25 %, i.e. steady, unlike a disturbance; and
///  - the phase costs the others 5 % of their own time, and they wait as long.
/// A rank that lags by those 5 % in all phases for `lasting` steps is named with the phase of its largest share: then
/// its core is slow, not a phase. A rank whose phases explain less than half of its lateness is not named unless one of
/// them is slow by itself. A named rank is not named again until it has kept up for `calm` steps.
///
/// A step may stand for several in a row, with their mean times.
///
/// add() depends only on its arguments so far: ranks that get the same numbers come to the same verdict.
class StragglerDetector {
public:
    static constexpr std::size_t window = 20, every = 5, lasting = 500, calm = 200;

    struct Verdict {
        int rank = 0;
        std::string_view phase = phase::backward; ///< of ownPhases
        bool over = false;                        ///< the rank keeps up again
        double readyLaterNs = 0;                  ///< median over the window
        std::int64_t step = 0;
    };
    explicit StragglerDetector(int ranks);

    /// Adds every rank's times of one step, in rank order. Absent if there is no new verdict.
    [[nodiscard]] std::optional<Verdict> add(std::int64_t step, std::span<const OwnTimes> ranks);

private:
    struct State {
        std::optional<std::string_view> named;
        std::size_t calmSteps = 0, lateSteps = 0;
    };
    struct Slow {
        std::string_view phase;
        bool alone; ///< only this phase is slow, not the whole rank
        double readyLaterNs;
    };
    using Window = std::array<double, window>;
    /// One number of a rank in each step of the window; `what` is 0 for `ready`, else 1 + an index in ownPhases.
    [[nodiscard]] Window timesOf(std::size_t rank, std::size_t what) const;
    /// The same for the ranks it is compared with: the lower median of the other ranks in each step.
    [[nodiscard]] Window othersOf(std::size_t rank, std::size_t what) const;
    void findMiddles();
    /// The rest of a phase's lag in each step of the window, as a logarithm.
    [[nodiscard]] Window ownLagOf(std::size_t rank, std::size_t phase) const;
    [[nodiscard]] bool slowIn(std::size_t rank, std::size_t phase, double late, double othersWhole) const;
    [[nodiscard]] std::optional<Slow> slownessOf(std::size_t rank) const;
    [[nodiscard]] std::optional<Verdict> judge(std::int64_t step);

    std::size_t m_ranks;
    std::vector<OwnTimes> m_ring; ///< window × ranks
    std::size_t m_next = 0, m_filled = 0;
    std::size_t m_sinceJudged = every - 1; ///< so that the first full window is judged at once
    std::vector<State> m_states;
    /// By number and step of the window: two neighbours in the order of all ranks. The lower median of all but one rank is the first of
    /// them, or the second where that rank's own number is not above the first.
    std::array<std::array<std::array<double, 2>, window>, OwnTimes::numbers> m_middles{};
    std::vector<double> m_scratch;
};

/// "rank 1 on node-a is slower than the others in backward"
[[nodiscard]] std::string slownessInWords(const StragglerDetector::Verdict &verdict, const std::string &host);
/// The alert of a rank that is slow. `steps`: what add() was given, "steps" or otherwise.
[[nodiscard]] AlertFrame stragglerAlert(const StragglerDetector::Verdict &verdict, const std::string &host,
                                        std::string_view steps);

} // namespace lockstep
