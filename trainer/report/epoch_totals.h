// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

/// Totals of an epoch, or of a whole run, on this rank.
struct EpochTotals {
    double lossSum = 0; ///< of samples' losses, padded duplicates left out; may be non-finite
    std::int64_t samples = 0, steps = 0;
    double durationS = 0;
    PhaseTotals phases;

    void add(const EpochTotals &other);
    /// To numbers and back, for sending between ranks and for checkpoints.
    [[nodiscard]] std::vector<double> toNumbers() const;
    [[nodiscard]] static EpochTotals fromNumbers(std::span<const double> numbers);
    static constexpr std::size_t numbers = 4 + PhaseTotals::numbers;
};

} // namespace lockstep::trainer
