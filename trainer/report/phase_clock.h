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

/// The phases of a step as array indices; names are ipc's. The first seven add up to the epoch.
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

/// Nanoseconds of one step by phase; what was not measured is absent.
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
    /// Time outside a step (the loop's end): counts in the sum, not as a step.
    void addTail(const StepTimes &tail);
    [[nodiscard]] PhaseTimes toFrame() const;
    /// Adds another's sums; maxima are the larger ones.
    void merge(const PhaseTotals &other);
    /// To numbers and back, for checkpoints. Absent phases are -1.
    [[nodiscard]] std::vector<double> toNumbers() const;
    [[nodiscard]] static PhaseTotals fromNumbers(std::span<const double> numbers);
    static constexpr std::size_t numbers = 2 * phaseCount;
    void clear() { *this = PhaseTotals(); }

private:
    std::array<std::int64_t, phaseCount> m_sum{}, m_max{};
    std::uint32_t m_measured = 0;
};

/// Measures where a step's time goes: each lap assigns all the time since the previous one to one phase, so the phases add up to
/// the loop's time without a remainder. `nested` names the finer phase inside it (DP's parts).
/// One thread at a time.
class PhaseClock {
public:
    virtual ~PhaseClock() = default;
    /// Discards the time before: the next lap counts from now.
    virtual void start() = 0;
    virtual void lap(Phase phase, std::optional<Phase> nested = {}) = 0;
    /// Time that overlaps laps (comm, wait).
    virtual void add(Phase phase, std::int64_t ns) = 0;
    /// Closes the step.
    virtual void endStep() = 0;
    /// The oldest closed step whose times are known, or nothing. `wait`: block for it if one is closed.
    virtual std::optional<StepTimes> takeStep(bool wait) = 0;
    /// Times since the last endStep().
    virtual StepTimes takeTail() = 0;
    /// Laps by phase since the last call, while the step still runs; nothing where the host learns them later (GPUs).
    virtual std::optional<StepTimes> takeOwn() { return {}; }

    /// GPUs: a point of the calling thread's current stream, whichever that is; it must come before the step's last lap.
    /// Null elsewhere, where monotonicNs() is the point.
    virtual std::shared_ptr<c10::Event> point() { return {}; }
    /// When such a point was reached, nanoseconds on the scale of monotonicNs().
    using When = std::function<std::int64_t(const c10::Event &)>;
    /// GPUs: called with the step's times when they are known, before takeStep() gives them. Not called elsewhere.
    virtual void whenKnown(std::function<void(StepTimes &, const When &)> /*use*/) {}
};

/// CLOCK_MONOTONIC, nanoseconds.
[[nodiscard]] std::int64_t monotonicNs();

} // namespace lockstep::trainer
