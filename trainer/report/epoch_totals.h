// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// Totals of an epoch or of the whole run, on this rank.
struct EpochTotals {
    double lossSum = 0; ///< over samples, without padded duplicates; may be non-finite
    std::int64_t samples = 0, steps = 0;
    std::int64_t leftOut = 0; ///< of `samples`: of steps thrown away for a loss that is not finite; lossSum lacks them
    double durationS = 0;
    PhaseTotals phases;

    void add(const EpochTotals &other);
    /// The samples whose mean loss is that of the epoch.
    [[nodiscard]] std::int64_t lossSamples() const { return samples - leftOut; }
    /// Converts to numbers, without leftOut, and back, for exchange between ranks and for checkpoints.
    [[nodiscard]] std::vector<double> toNumbers() const;
    [[nodiscard]] static EpochTotals fromNumbers(std::span<const double> numbers);
    static constexpr std::size_t numbers = 4 + PhaseTotals::numbers;
    /// Whether such numbers, from a file, can be totals: counts and times within the bounds of a frame's.
    [[nodiscard]] static bool canBe(std::span<const double> numbers);
};

} // namespace lockstep::trainer
