// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ipc/frames.h"

namespace c10 {
struct Event;
}

namespace lockstep::trainer {

/// The phases of a step as array indices; their names are in ipc/phases.h. The first seven add up to the epoch.
enum class Phase : std::uint8_t {
    Load,
    H2d,
    Forward,
    Backward,
    Exposed,
    Optimizer,
    Other,
    Comm,
    Wait,
    Scatter,
    Replicate,
    ParallelForward,
    Gather,
    LossOnDevice0,
    ParallelBackward,
    Reduce,
    Count
};
inline constexpr std::size_t phaseCount = static_cast<std::size_t>(Phase::Count);
[[nodiscard]] std::string_view nameOf(Phase phase);
[[nodiscard]] std::optional<Phase> phaseNamed(std::string_view name);

/// Nanoseconds of one step by phase; a phase that was not measured is absent.
class StepTimes {
public:
    void add(Phase phase, std::int64_t ns);
    [[nodiscard]] std::optional<std::int64_t> of(Phase phase) const;

private:
    std::array<std::int64_t, phaseCount> m_ns{};
    std::uint32_t m_measured = 0;
};

/// Sum and longest step of each phase, over a window or an epoch.
class PhaseTotals {
public:
    void add(const StepTimes &step);
    /// Adds time outside a step (the end of the loop): it counts in the sum, but not as a step.
    void addTail(const StepTimes &tail);
    [[nodiscard]] PhaseTimes toFrame() const;
    /// Adds the other's sums; of the maxima it keeps the larger one.
    void merge(const PhaseTotals &other);
    /// Converts to numbers and back, for checkpoints. Phases that were not measured are -1.
    [[nodiscard]] std::vector<double> toNumbers() const;
    [[nodiscard]] static PhaseTotals fromNumbers(std::span<const double> numbers);
    static constexpr std::size_t numbers = 2 * phaseCount;
    void clear() { *this = PhaseTotals(); }

private:
    std::array<std::int64_t, phaseCount> m_sum{}, m_max{};
    std::uint32_t m_measured = 0;
};

/// Measures where the time of a step goes. Each lap assigns the time since the previous lap to one phase, so the phases
/// add up to the loop's time without a remainder. `nested` names the finer phase inside it (parts of DP). Used by one
/// thread at a time.
class PhaseClock {
public:
    virtual ~PhaseClock() = default;
    /// Starts measuring now; earlier time is dropped. Returns that moment, as monotonicNs() counts.
    virtual std::int64_t start() = 0;
    /// Returns when the lap ended, by the host's clock. On a CPU device, laps add up to exactly the time between two of
    /// these moments; on a GPU, laps are timed by the device's own clock.
    virtual std::int64_t lap(Phase phase, std::optional<Phase> nested = {}) = 0;
    /// Adds time that overlaps laps (comm, wait).
    virtual void add(Phase phase, std::int64_t ns) = 0;
    /// Ends the step.
    virtual void endStep() = 0;
    /// The oldest ended step whose times are known; absent if there is none. `wait`: block until they are known if a
    /// step has ended.
    virtual std::optional<StepTimes> takeStep(bool wait) = 0;
    /// Times since the last endStep().
    virtual StepTimes takeTail() = 0;
    /// Laps by phase since the last call, while the step still runs. Absent if the host learns them only later (GPUs).
    virtual std::optional<StepTimes> takeOwn() { return {}; }

    /// GPUs: a point in the calling thread's current stream, whichever that is. It must be taken before the step's last
    /// lap. Null for other devices, where monotonicNs() is used instead.
    virtual std::shared_ptr<c10::Event> point() { return {}; }
    /// When such a point was reached, in ns on the scale of monotonicNs().
    using When = std::function<std::int64_t(const c10::Event &)>;
    /// GPUs: `use` is called with the step's times when they are known, before takeStep() returns them. Never called
    /// for other devices.
    virtual void whenKnown(std::function<void(StepTimes &, const When &)> /*use*/) {}
};

/// CLOCK_MONOTONIC, nanoseconds.
[[nodiscard]] std::int64_t monotonicNs();

} // namespace lockstep::trainer
