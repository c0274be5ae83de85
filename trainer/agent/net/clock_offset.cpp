// SPDX-License-Identifier: MIT
#include "trainer/agent/net/clock_offset.h"

#include <algorithm>

namespace lockstep::agent {

namespace {
constexpr std::size_t kept = 8;
}

void ClockOffset::take(std::int64_t sentWallUs, std::int64_t tripNs, std::int64_t theirWallUs) {
    const double trip = static_cast<double>(tripNs) * 1e-9;
    m_recent.push_back({static_cast<double>(theirWallUs - sentWallUs) * 1e-6 - trip / 2, trip});
    if (m_recent.size() > kept)
        m_recent.pop_front();
    ++m_taken;
}

std::optional<ClockOffset::Estimate> ClockOffset::estimate() const {
    if (m_recent.empty())
        return std::nullopt;
    return *std::min_element(m_recent.begin(), m_recent.end(),
                             [](const Estimate &a, const Estimate &b) { return a.roundTripS < b.roundTripS; });
}

} // namespace lockstep::agent
