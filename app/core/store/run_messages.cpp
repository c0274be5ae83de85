// SPDX-License-Identifier: MIT
#include "store/run_messages.h"

#include <algorithm>

#include "ipc/printable.h"

namespace lockstep::core {
namespace {

constexpr std::size_t consoleLimit = 20'000, mostConsoleBytes = 64 << 20; ///< a line may have as much as a frame
constexpr std::size_t mostKept = 10'000;       ///< changes of state: a rank may report them without end
constexpr std::size_t ofKindKept = 1000;       ///< alerts of a kind, if they are short; twice as many are cut to it
constexpr std::size_t ofKindBytes = 1 << 20;   ///< of those; twice as much is cut to it
constexpr std::size_t mostMessageBytes = 4096; ///< of an alert, or of a change of state

std::size_t bytesOf(const ConsoleLine &line) {
    return line.message.size() + line.level.size() + line.source.size();
}

std::size_t bytesOf(const AlertFrame &alert) {
    return alert.severity.size() + alert.kind.size() + alert.message.size();
}

AlertFrame cutAlert(const AlertFrame &alert) {
    return {cutText(alert.severity, mostMessageBytes), cutText(alert.kind, mostMessageBytes),
            cutText(alert.message, mostMessageBytes), alert.step};
}

std::string earlierInWords(std::uint64_t count, std::size_t place) {
    const std::string kind =
        place < alertTable.size() ? "of the kind " + std::string(alertTable[place].kind) : "of the script's own kinds";
    return std::to_string(count) + " earlier alerts " + kind + " are not kept here: the run's log has them";
}

} // namespace

void RunMessages::append(ConsoleLine line) {
    m_consoleBytes += bytesOf(line);
    m_console.push_back(std::move(line));
    while (m_console.size() > consoleLimit || m_consoleBytes > mostConsoleBytes) {
        m_consoleBytes -= bytesOf(m_console.front());
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
    const std::size_t place = placeOfAlert(body.kind);
    OfKind &kind = m_ofKind[place];
    m_alerts.push_back({frame.wallUs, frame.rank, cutAlert(body), ++m_alertsCame});
    ++kind.came;
    ++kind.lines;
    kind.bytes += bytesOf(m_alerts.back().alert);
    if (kind.lines >= 2 * ofKindKept || kind.bytes >= 2 * ofKindBytes)
        dropEarlier(place);
}

/// How many of the newest alerts of that kind stay when earlier ones go.
std::size_t RunMessages::newestThatFit(std::size_t place) const {
    std::size_t lines = 0, bytes = 0;
    for (auto line = m_alerts.rbegin(); line != m_alerts.rend() && lines < ofKindKept; ++line) {
        if (placeOfAlert(line->alert.kind) != place)
            continue;
        bytes += bytesOf(line->alert);
        if (bytes > ofKindBytes)
            break;
        ++lines;
    }
    return lines;
}

/// The last line that goes, which may itself stand for earlier ones, becomes the one that counts them.
void RunMessages::dropEarlier(std::size_t place) {
    OfKind &kind = m_ofKind[place];
    const std::size_t staying = newestThatFit(place);
    std::size_t going = kind.lines - staying;
    kind.bytes = 0;
    auto kept = m_alerts.begin();
    for (auto line = m_alerts.begin(); line != m_alerts.end(); ++line) {
        if (going > 0 && placeOfAlert(line->alert.kind) == place) {
            if (--going > 0)
                continue;
            line->rank.reset();
            line->alert.message = earlierInWords(kind.came - staying, place);
            line->alert.step.reset();
        }
        if (placeOfAlert(line->alert.kind) == place)
            kind.bytes += bytesOf(line->alert);
        if (kept != line)
            *kept = std::move(*line);
        ++kept;
    }
    m_alerts.erase(kept, m_alerts.end());
    kind.lines = staying + 1;
}

std::vector<AlertLine> RunMessages::alertsAfter(std::uint64_t number) const {
    return {std::ranges::upper_bound(m_alerts, number, {}, &AlertLine::number), m_alerts.end()};
}

void RunMessages::take(const Frame &frame, const StateFrame &body) {
    if (m_stateChanges.size() < mostKept)
        m_stateChanges.push_back(
            {frame.wallUs, frame.rank, body.state, cutText(body.detail, mostMessageBytes), body.epoch});
}

} // namespace lockstep::core
