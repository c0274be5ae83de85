// SPDX-License-Identifier: MIT
#include "trainer/report/phase_clock.h"

#include <algorithm>
#include <ctime>

namespace lockstep::trainer {

namespace {
constexpr double nsPerS = 1e9;
std::uint32_t bit(std::size_t phase) {
    return std::uint32_t{1} << phase;
}
} // namespace

std::string_view nameOf(Phase phase) {
    static constexpr std::array<std::string_view, phaseCount> names = {
        phase::load,     phase::h2d,           phase::forward,
        phase::backward, phase::exposed,       phase::optimizer,
        phase::other,    phase::comm,          phase::wait,
        phase::scatter,  phase::replicate,     phase::parallelForward,
        phase::gather,   phase::lossOnDevice0, phase::parallelBackward,
        phase::reduce};
    return names.at(static_cast<std::size_t>(phase));
}

std::optional<Phase> phaseNamed(std::string_view name) {
    for (std::size_t i = 0; i < phaseCount; ++i)
        if (nameOf(static_cast<Phase>(i)) == name)
            return static_cast<Phase>(i);
    return {};
}

void StepTimes::add(Phase phase, std::int64_t ns) {
    const auto i = static_cast<std::size_t>(phase);
    m_ns.at(i) += ns;
    m_measured |= bit(i);
}

std::optional<std::int64_t> StepTimes::of(Phase phase) const {
    const auto i = static_cast<std::size_t>(phase);
    if (!(m_measured & bit(i)))
        return {};
    return m_ns.at(i);
}

void PhaseTotals::add(const StepTimes &step) {
    for (std::size_t i = 0; i < phaseCount; ++i) {
        const auto ns = step.of(static_cast<Phase>(i));
        if (!ns)
            continue;
        m_sum.at(i) += *ns;
        m_max.at(i) = std::max(m_max.at(i), *ns);
        m_measured |= bit(i);
    }
}

void PhaseTotals::addTail(const StepTimes &tail) {
    for (std::size_t i = 0; i < phaseCount; ++i) {
        if (const auto ns = tail.of(static_cast<Phase>(i))) {
            m_sum.at(i) += *ns;
            m_measured |= bit(i);
        }
    }
}

PhaseTimes PhaseTotals::toFrame() const {
    PhaseTimes times;
    for (std::size_t i = 0; i < phaseCount; ++i) {
        if (m_measured & bit(i))
            times.emplace(nameOf(static_cast<Phase>(i)), PhaseTime{static_cast<double>(m_sum.at(i)) / nsPerS,
                                                                   static_cast<double>(m_max.at(i)) / nsPerS});
    }
    return times;
}

void PhaseTotals::merge(const PhaseTotals &other) {
    for (std::size_t i = 0; i < phaseCount; ++i) {
        m_sum.at(i) += other.m_sum.at(i);
        m_max.at(i) = std::max(m_max.at(i), other.m_max.at(i));
    }
    m_measured |= other.m_measured;
}

std::vector<double> PhaseTotals::toNumbers() const {
    std::vector<double> values(numbers, -1);
    for (std::size_t i = 0; i < phaseCount; ++i) {
        if (m_measured & bit(i)) {
            values[i] = static_cast<double>(m_sum.at(i));
            values[phaseCount + i] = static_cast<double>(m_max.at(i));
        }
    }
    return values;
}

PhaseTotals PhaseTotals::fromNumbers(std::span<const double> values) {
    PhaseTotals totals;
    for (std::size_t i = 0; i < phaseCount && values.size() >= numbers; ++i) {
        if (values[i] < 0)
            continue;
        totals.m_sum.at(i) = static_cast<std::int64_t>(values[i]);
        totals.m_max.at(i) = static_cast<std::int64_t>(values[phaseCount + i]);
        totals.m_measured |= bit(i);
    }
    return totals;
}

std::int64_t monotonicNs() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace lockstep::trainer
