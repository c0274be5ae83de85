// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "ipc/alerts.h"
#include "store/run_data.h"

namespace lockstep::core {

/// Messages of agents and ranks: console lines, alerts, changes of state.
class RunMessages {
public:
    void take(const Frame &frame, const LogFrame &body);
    void take(const Frame &frame, const ExitFrame &body); ///< a line of the console
    void take(const Frame &frame, const AlertFrame &body);
    void take(const Frame &frame, const StateFrame &body);

    [[nodiscard]] const std::deque<ConsoleLine> &console() const { return m_console; } ///< the last 20,000, and 64 MiB
    [[nodiscard]] std::uint64_t consoleDropped() const { return m_consoleDropped; } ///< lines before console().front()
    /// As they came: at least the newest 1,000 of each kind, of long ones the newest MiB; those that a script invents are one kind. In
    /// place of earlier ones stands one line of that kind that says how many they were. Messages are cut at 4 KiB.
    [[nodiscard]] const std::vector<AlertLine> &alerts() const { return m_alerts; }
    /// Copies of those alerts() whose number is higher.
    [[nodiscard]] std::vector<AlertLine> alertsAfter(std::uint64_t number) const;
    /// How many of that kind have come, whatever is kept of them.
    [[nodiscard]] std::uint64_t alertsOf(AlertName name) const { return m_ofKind[placeOfAlert(name.row().kind)].came; }
    [[nodiscard]] const std::vector<StateChange> &stateChanges() const { return m_stateChanges; }

private:
    /// Alerts of one kind.
    struct OfKind {
        std::uint64_t came = 0;
        std::size_t lines = 0, bytes = 0; ///< in m_alerts
    };
    void append(ConsoleLine line);
    [[nodiscard]] std::size_t newestThatFit(std::size_t place) const;
    void dropEarlier(std::size_t place);

    std::deque<ConsoleLine> m_console;
    std::uint64_t m_consoleDropped = 0;
    std::size_t m_consoleBytes = 0;
    std::vector<AlertLine> m_alerts;
    std::uint64_t m_alertsCame = 0;
    std::array<OfKind, alertTable.size() + 1> m_ofKind{}; ///< by placeOfAlert()
    std::vector<StateChange> m_stateChanges;
};

} // namespace lockstep::core
