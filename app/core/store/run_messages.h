// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "store/run_data.h"

namespace lockstep::core {

/// Messages of agents and ranks: console lines, alerts, changes of state.
class RunMessages {
public:
    void take(const Frame &frame, const LogFrame &body);
    void take(const Frame &frame, const ExitFrame &body); ///< a line of the console
    void take(const Frame &frame, const AlertFrame &body);
    void take(const Frame &frame, const StateFrame &body);

    [[nodiscard]] const std::deque<ConsoleLine> &console() const { return m_console; } ///< the last 20,000
    [[nodiscard]] std::uint64_t consoleDropped() const { return m_consoleDropped; } ///< lines before console().front()
    [[nodiscard]] const std::vector<AlertLine> &alerts() const { return m_alerts; }
    [[nodiscard]] const std::vector<StateChange> &stateChanges() const { return m_stateChanges; }

private:
    void append(ConsoleLine line);

    std::deque<ConsoleLine> m_console;
    std::uint64_t m_consoleDropped = 0;
    std::vector<AlertLine> m_alerts;
    std::vector<StateChange> m_stateChanges;
};

} // namespace lockstep::core
