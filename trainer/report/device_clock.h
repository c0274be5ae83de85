// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/report/training_position.h"

namespace lockstep::trainer {

/// Times phases with events in the device's current stream. A lap is the time between two points of that stream, which
/// includes waiting for the host. So the phases add up to the stream's time, and no step has to be synchronised. Used
/// from the training thread, and from autograd's device thread while the training thread waits for it.
class DeviceClock final : public PhaseClock {
public:
    explicit DeviceClock(c10::Device device, Trace *trace = nullptr, TrainingPosition *position = nullptr)
        : m_device(device), m_trace(trace), m_position(position) {}
    std::int64_t start() override;
    std::int64_t lap(Phase phase, std::optional<Phase> nested) override;
    void add(Phase phase, std::int64_t ns) override;
    void endStep() override;
    std::optional<StepTimes> takeStep(bool wait) override;
    StepTimes takeTail() override;
    std::shared_ptr<c10::Event> point() override;
    void whenKnown(std::function<void(StepTimes &, const When &)> use) override;

private:
    struct Mark {
        Phase phase;
        std::optional<Phase> nested;
        std::shared_ptr<c10::Event> event;
        bool traced;
    };
    struct Step {
        std::vector<Mark> marks;
        StepTimes extra;
        std::vector<std::shared_ptr<c10::Event>> points;
        std::vector<std::function<void(StepTimes &, const When &)>> uses;
    };
    [[nodiscard]] std::shared_ptr<c10::Event> record();
    [[nodiscard]] StepTimes resolve(Step step);

    c10::Device m_device;
    Trace *m_trace;
    TrainingPosition *m_position;
    std::int64_t m_streamNs = 0;        ///< when m_last was reached, on the host's clock as read in start()
    std::shared_ptr<c10::Event> m_last; ///< the last mark that was resolved
    Step m_step;
    std::deque<Step> m_done;
    std::vector<std::shared_ptr<c10::Event>> m_spare; ///< events are expensive to create, so they are reused
};

} // namespace lockstep::trainer
