// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

namespace lockstep::agent {

/// How another machine's wall clock differs from ours, from round trips: the quickest of the last eight tells, so that a
/// clock that is set shows within eight trips and a slow trip does not.
class ClockOffset {
public:
    struct Estimate {
        double offsetS = 0, roundTripS = 0; ///< theirs less ours; known to half the trip
    };
    /// One trip: our wall clock when it began, how long it took, their wall clock in between.
    void take(std::int64_t sentWallUs, std::int64_t tripNs, std::int64_t theirWallUs);
    [[nodiscard]] std::optional<Estimate> estimate() const;
    [[nodiscard]] std::size_t trips() const { return m_taken; }

private:
    std::deque<Estimate> m_recent;
    std::size_t m_taken = 0;
};

} // namespace lockstep::agent
