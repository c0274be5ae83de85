// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

namespace lockstep::agent {

/// Estimates how far another machine's wall clock is ahead of ours, from round trips. The quickest of the last eight
/// trips counts: slow trips are ignored, and a clock that was set is noticed within eight trips.
class ClockOffset {
public:
    struct Estimate {
        double offsetS = 0, roundTripS = 0; ///< their clock minus ours; the error is at most half the round trip
    };
    /// One round trip: our wall clock when it began (µs), its duration (ns), and their wall clock in between (µs).
    void take(std::int64_t sentWallUs, std::int64_t tripNs, std::int64_t theirWallUs);
    [[nodiscard]] std::optional<Estimate> estimate() const;
    [[nodiscard]] std::size_t trips() const { return m_taken; }

private:
    std::deque<Estimate> m_recent;
    std::size_t m_taken = 0;
};

} // namespace lockstep::agent
