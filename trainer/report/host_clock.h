// SPDX-License-Identifier: MIT
#pragma once
#include <deque>

#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/report/training_position.h"

namespace lockstep::trainer {

/// Measures phases with the host's clock, for CPU devices, where the host itself computes.
class HostClock final : public PhaseClock {
public:
    explicit HostClock(Trace *trace = nullptr, TrainingPosition *position = nullptr)
        : m_trace(trace), m_position(position) {}
    std::int64_t start() override;
    std::int64_t lap(Phase phase, std::optional<Phase> nested) override;
    void add(Phase phase, std::int64_t ns) override;
    void endStep() override;
    std::optional<StepTimes> takeStep(bool wait) override;
    StepTimes takeTail() override;
    std::optional<StepTimes> takeOwn() override;

private:
    Trace *m_trace;
    TrainingPosition *m_position;
    std::int64_t m_last = 0;
    StepTimes m_step, m_own;
    std::deque<StepTimes> m_done;
};

} // namespace lockstep::trainer
