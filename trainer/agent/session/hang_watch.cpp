// SPDX-License-Identifier: MIT
#include "trainer/agent/session/hang_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ipc/alerts.h"
#include "ipc/list_in_words.h"
#include "ipc/median.h"
#include "ipc/phases.h"
#include "ipc/process_stat.h"

namespace lockstep::agent {

namespace {

constexpr double leastS = 10, medianSteps = 5;
constexpr double patienceS = 300; ///< for what may honestly take long: a first step, a script's own work
constexpr std::size_t windowsKept = 64, ownWindowsKept = 8;
constexpr std::size_t ownWindowsNeeded = 3;      ///< of fewer, one with a pause in it would be the median
constexpr std::int64_t silentNs = 5'000'000'000; ///< a rank sends something each second

std::string secondsText(double seconds) {
    return std::to_string(std::llround(seconds)) + " s";
}

void keepNewest(std::deque<double> &values, double value, std::size_t most) {
    values.push_back(value);
    if (values.size() > most)
        values.pop_front();
}

double medianOf(const std::deque<double> &values) {
    return median({values.begin(), values.end()}).value_or(0);
}

/// "rank 0", "ranks 0 and 2", "ranks 0, 2 and 3", "ranks 0, 2, 3, 4 and 60 more".
std::string names(const std::vector<int> &ranks) {
    constexpr std::size_t most = 8;
    const std::size_t shown = std::min(ranks.size(), most);
    std::vector<std::string> items;
    for (std::size_t i = 0; i < shown; ++i)
        items.push_back(std::to_string(ranks[i]));
    if (shown < ranks.size())
        items.push_back(std::to_string(ranks.size() - shown) + " more");
    return (ranks.size() == 1 ? "rank " : "ranks ") + listInWords(items);
}

} // namespace

void HangWatch::take(int number, const Frame &frame, std::int64_t nowNs) {
    if (std::holds_alternative<AlertFrame>(frame.body) || std::holds_alternative<LogFrame>(frame.body))
        return; // no step has gone on
    Rank &rank = m_ranks[number];
    rank.heardNs = nowNs;
    if (const auto *beat = std::get_if<HeartbeatFrame>(&frame.body)) {
        rank.at = beat->at;
        rank.hasSent = false;
        return;
    }
    rank.at.reset();
    rank.hasSent = true;
    if (const auto *state = std::get_if<StateFrame>(&frame.body)) {
        rank.state = state->state;
        rank.stepsMonoNs = 0; // what lies between two windows now is no step
        rank.steppedNs = nowNs;
    } else if (const auto *steps = std::get_if<StepsFrame>(&frame.body)) {
        rank.lastStep = steps->lastStep;
        if (rank.stepsMonoNs > 0 && steps->count > 0) {
            const double stepS =
                static_cast<double>(frame.monoNs - rank.stepsMonoNs) * 1e-9 / static_cast<double>(steps->count);
            keepNewest(m_stepS, stepS, windowsKept);
            keepNewest(rank.stepS, stepS, ownWindowsKept);
        }
        rank.stepsMonoNs = frame.monoNs;
        rank.steppedNs = nowNs;
    }
}

double HangWatch::limitS() const {
    if (m_afterS > 0)
        return m_afterS;
    return m_stepS.empty() ? patienceS : std::max(leastS, medianSteps * medianOf(m_stepS));
}

bool HangWatch::isSilent(const Rank &rank, std::int64_t nowNs) const {
    return nowNs - rank.heardNs > silentNs;
}

/// Whether it has ended a step so lately that it may be in an honest one, by its own pace.
bool HangWatch::goesOn(const Rank &rank, std::int64_t nowNs) const {
    if (rank.stepS.size() < ownWindowsNeeded || isSilent(rank, nowNs))
        return false;
    const double limit = m_afterS > 0 ? m_afterS : std::max(limitS(), medianSteps * medianOf(rank.stepS));
    return static_cast<double>(nowNs - rank.steppedNs) * 1e-9 < limit;
}

std::optional<double> HangWatch::waitS(const Rank &rank, std::int64_t nowNs) const {
    if (!rank.at || !rank.at->waitS || isSilent(rank, nowNs))
        return std::nullopt;
    if (rank.at->collectives.value_or(0) <= rank.at->collectivesEnded.value_or(0))
        return std::nullopt; // it has entered none, whatever it says
    return *rank.at->waitS + static_cast<double>(nowNs - rank.heardNs) * 1e-9;
}

/// Whether a rank that the others wait for may still come. A validation that a script has on one rank shows as batches that are fetched, or
/// not at all.
bool HangWatch::mayBeBusy(const Rank &rank, bool came, double waitedS, double limitS, std::int64_t nowNs) const {
    if (came || isSilent(rank, nowNs))
        return false;
    if (rank.state == RunState::Init || rank.state == RunState::Evaluating || rank.state == RunState::Checkpointing)
        return true;
    if (goesOn(rank, nowNs))
        return true;
    if (m_afterS > 0)
        return false;
    if (!rank.at)
        return rank.hasSent;
    const double heardS = static_cast<double>(nowNs - rank.heardNs) * 1e-9;
    if (rank.at->sinceS && *rank.at->sinceS + heardS < limitS)
        return true;
    return m_kind == Ranks::Scripts && rank.at->phase.empty() && waitedS < patienceS;
}

/// Where the whole backward counts as the collective, the ranks may still compute, or compile, in it.
bool HangWatch::mayAllCompute(double waitedS) const {
    return m_kind == Ranks::Scripts && m_afterS <= 0 && waitedS < patienceS &&
           std::ranges::any_of(
               m_ranks, [](const auto &entry) { return entry.second.at && entry.second.at->phase == phase::backward; });
}

std::optional<AlertFrame> HangWatch::check(std::int64_t nowNs, int rankCount,
                                           const std::function<std::string(int rank)> &processOf) {
    const double limit = limitS();
    std::optional<std::int64_t> collective; // the first one that hangs
    double longest = 0;
    for (const auto &[number, rank] : m_ranks)
        if (const auto wait = waitS(rank, nowNs); wait && *wait >= limit) {
            const std::int64_t own = rank.at->collectivesEnded.value_or(0) + 1;
            collective = std::min(collective.value_or(own), own);
            longest = std::max(longest, *wait);
        }
    if (!collective)
        return over();
    std::vector<int> here, away;
    for (const auto &[number, rank] : m_ranks) {
        const bool came = waitS(rank, nowNs) && rank.at->collectives.value_or(0) >= *collective;
        if (mayBeBusy(rank, came, longest, limit, nowNs))
            return std::nullopt;
        (came ? here : away).push_back(number);
    }
    if (away.empty() && mayAllCompute(longest))
        return std::nullopt;
    if (m_hang == collective)
        return std::nullopt;
    m_hang = collective;
    AlertFrame alert = makeAlert("hang", waits(here, *collective, longest), m_ranks.at(here.front()).at->step);
    constexpr std::size_t mostDescribed = 4;
    for (std::size_t i = 0; i < std::min(away.size(), mostDescribed); ++i)
        alert.message += "; " + absent(away[i], nowNs, processOf(away[i]));
    if (away.size() > mostDescribed)
        alert.message += "; " + std::to_string(away.size() - mostDescribed) + " more ranks have not come";
    const int unheard = rankCount - static_cast<int>(m_ranks.size());
    if (unheard > 0)
        alert.message += "; nothing is known of " + std::to_string(unheard) + (unheard == 1 ? " rank" : " ranks") +
                         ", which reported no frame";
    else if (away.empty())
        alert.message += "; all ranks are in it: the network or the backend does not go on";
    return alert;
}

std::string HangWatch::waits(const std::vector<int> &ranks, std::int64_t collective, double seconds) const {
    const std::string place = placeInWords(*m_ranks.at(ranks.front()).at);
    return names(ranks) + (ranks.size() == 1 ? " has" : " have") + " waited for " + secondsText(seconds) +
           " in collective " + std::to_string(collective) + (place.empty() ? "" : " (" + place + ")");
}

std::string HangWatch::absent(int number, std::int64_t nowNs, const std::string &process) const {
    const Rank &rank = m_ranks.at(number);
    const double heardS = static_cast<double>(nowNs - rank.heardNs) * 1e-9;
    const std::string last = rank.lastStep ? "step " + std::to_string(*rank.lastStep) : std::string();
    std::string text = names({number}) + " has not come: ";
    if (isSilent(rank, nowNs)) {
        const std::string place = rank.at && !placeInWords(*rank.at).empty() ? placeInWords(*rank.at) : last;
        text += "nothing was heard of it for " + secondsText(heardS) + (place.empty() ? "" : ", last in " + place);
    } else if (rank.at && !placeInWords(*rank.at).empty()) {
        text += "it is in " + placeInWords(*rank.at);
        if (rank.at->sinceS)
            text += ", for " + secondsText(*rank.at->sinceS + heardS);
    } else {
        text += last.empty() ? "where it is is unknown" : "it was last in " + last;
    }
    return process.empty() ? text : text + "; " + process;
}

std::optional<AlertFrame> HangWatch::over() {
    if (!m_hang)
        return std::nullopt;
    const bool goOn = std::ranges::all_of(m_ranks, [&](const auto &entry) {
        const auto &at = entry.second.at;
        return !at || at->collectivesEnded.value_or(0) >= *m_hang;
    });
    if (!goOn)
        return std::nullopt;
    return makeAlert("hang_over", "the ranks go on: collective " +
                                      std::to_string(*std::exchange(m_hang, std::nullopt)) +
                                      " has ended on all of them");
}

std::string oddStateOf(int pid) {
    switch (processStatOf(pid).value_or(ProcessStat()).state) {
    case 'T':
    case 't':
        return "its process is stopped (by SIGSTOP or a debugger)";
    case 'D':
        return "its process waits for a disk or a device";
    case 'Z':
    case 'X':
        return "its process has ended";
    default:
        return {};
    }
}

} // namespace lockstep::agent
