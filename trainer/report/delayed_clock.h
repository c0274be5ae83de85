// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "ipc/error.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// Makes one rank slower in one phase, to test how slow ranks are reported: LOCKSTEP_TEST_DELAY=RANK:PHASE:FACTOR.
struct TestDelay {
    int rank = 0;
    Phase phase = Phase::Backward;
    double factor = 1; ///< above 1
    /// "rank 1 is made 1.5 times slower in backward by LOCKSTEP_TEST_DELAY: its times are not real"
    [[nodiscard]] std::string sentence() const;
};
/// Parses the variable. BadArgument unless it is RANK:PHASE:FACTOR, with PHASE one of load, h2d, forward, backward,
/// optimizer.
[[nodiscard]] Result<TestDelay> parseTestDelay(const std::string &text);

/// A host clock that keeps its thread busy at the end of one phase until the phase has taken `factor` times as long.
class DelayedClock final : public PhaseClock {
public:
    DelayedClock(std::unique_ptr<PhaseClock> clock, TestDelay delay) : m_clock(std::move(clock)), m_delay(delay) {}
    std::int64_t start() override;
    std::int64_t lap(Phase phase, std::optional<Phase> nested) override;
    void add(Phase phase, std::int64_t ns) override { m_clock->add(phase, ns); }
    void endStep() override { m_clock->endStep(); }
    std::optional<StepTimes> takeStep(bool wait) override { return m_clock->takeStep(wait); }
    StepTimes takeTail() override { return m_clock->takeTail(); }
    std::optional<StepTimes> takeOwn() override { return m_clock->takeOwn(); }

private:
    std::unique_ptr<PhaseClock> m_clock;
    TestDelay m_delay;
    std::int64_t m_last = 0;
};

} // namespace lockstep::trainer
