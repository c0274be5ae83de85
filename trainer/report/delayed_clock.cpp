// SPDX-License-Identifier: MIT
#include "trainer/report/delayed_clock.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "ipc/straggler_detector.h"

namespace lockstep::trainer {

std::string TestDelay::sentence() const {
    char text[32];
    std::snprintf(text, sizeof text, "%g", factor);
    return "rank " + std::to_string(rank) + " is made " + text + " times slower in " + std::string(nameOf(phase)) +
           " by LOCKSTEP_TEST_DELAY: this run's times are not real";
}

Result<TestDelay> parseTestDelay(const std::string &text) {
    const auto wrong = fail(Error::badArgument("\"" + text.substr(0, 80) + "\" is no delay",
                                               "give RANK:PHASE:FACTOR, PHASE one of load, h2d, forward, backward and "
                                               "optimizer, FACTOR from 1 to 100, e.g. 1:backward:1.5",
                                               "LOCKSTEP_TEST_DELAY"));
    const auto first = text.find(':'), second = text.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
        return wrong;
    TestDelay delay;
    const char *begin = text.data(), *end = begin + text.size();
    const auto rank = std::from_chars(begin, begin + first, delay.rank);
    const auto factor = std::from_chars(begin + second + 1, end, delay.factor);
    const auto name = std::string_view(text).substr(first + 1, second - first - 1);
    const auto phase = phaseNamed(name);
    if (rank.ec != std::errc() || rank.ptr != begin + first || delay.rank < 0 || factor.ec != std::errc() ||
        factor.ptr != end || !(delay.factor >= 1 && delay.factor <= 100) || !phase ||
        std::ranges::find(ownPhases, name) == ownPhases.end())
        return wrong;
    delay.phase = *phase;
    return delay;
}

std::int64_t DelayedClock::start() {
    return m_last = m_clock->start();
}

std::int64_t DelayedClock::lap(Phase phase, std::optional<Phase> nested) {
    if (phase == m_delay.phase) {
        const std::int64_t now = monotonicNs();
        const auto more = static_cast<std::int64_t>(static_cast<double>(now - m_last) * (m_delay.factor - 1));
        while (monotonicNs() < now + more) { // busy, as slow work would be
        }
    }
    return m_last = m_clock->lap(phase, nested);
}

} // namespace lockstep::trainer
