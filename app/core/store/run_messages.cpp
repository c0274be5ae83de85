// SPDX-License-Identifier: MIT
#include "store/run_messages.h"

namespace lockstep::core {
namespace {

constexpr std::size_t consoleLimit = 20'000;
constexpr std::size_t mostKept = 10'000; ///< alerts, and changes of state: a rank may report them without end

} // namespace

void RunMessages::append(ConsoleLine line) {
    m_console.push_back(std::move(line));
    if (m_console.size() > consoleLimit) {
        m_console.pop_front();
        ++m_consoleDropped;
    }
}

void RunMessages::take(const Frame &frame, const LogFrame &body) {
    append({frame.wallUs, frame.rank, body.level, body.source, body.message});
}

void RunMessages::take(const Frame &frame, const ExitFrame &body) {
    const std::string who = frame.rank ? "rank " + std::to_string(*frame.rank) : "a rank";
    append({frame.wallUs, frame.rank, body.code == 0 ? "info" : "error", "agent",
            body.reason.empty() ? who + " ended" : body.reason});
}

void RunMessages::take(const Frame &frame, const AlertFrame &body) {
    if (m_alerts.size() < mostKept)
        m_alerts.push_back({frame.wallUs, frame.rank, body});
}

void RunMessages::take(const Frame &frame, const StateFrame &body) {
    if (m_stateChanges.size() < mostKept)
        m_stateChanges.push_back({frame.wallUs, frame.rank, body.state, body.detail, body.epoch});
}

} // namespace lockstep::core
