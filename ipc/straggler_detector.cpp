// SPDX-License-Identifier: MIT
#include "ipc/straggler_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "ipc/alerts.h"

namespace lockstep {

namespace {

const double slower = std::log(1.25); ///< log of the least lag of a slow phase
constexpr double matters = 0.05;      ///< share of the others' own time below which a lag does not matter
constexpr std::size_t outliers = 6;   ///< in how many steps of the window a slow phase may have been quick
/// A disturbed core's lag in one phase is this power of its lag in the other phases. For the rank itself the power is
/// higher than in most records, for the others lower: rather attribute too much to a disturbance than too little.
constexpr double ownPower = 1.75, othersPower = 0.4;
constexpr double least = 1; ///< ns; keeps logarithms finite

double valueOf(const OwnTimes &times, std::size_t what) {
    return what == 0 ? times.ready : times.phases.at(what - 1);
}

double inOrder(std::array<double, StragglerDetector::window> values, std::size_t place) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

double medianOf(const std::array<double, StragglerDetector::window> &values) {
    return inOrder(values, values.size() / 2);
}

} // namespace

StragglerDetector::StragglerDetector(int ranks)
    : m_ranks(static_cast<std::size_t>(std::max(ranks, 0))), m_ring(window * m_ranks), m_states(m_ranks),
      m_scratch(m_ranks) {}

std::optional<StragglerDetector::Verdict> StragglerDetector::add(std::int64_t step, std::span<const OwnTimes> ranks) {
    if (ranks.size() != m_ranks || m_ranks < 2)
        return {};
    std::copy(ranks.begin(), ranks.end(), m_ring.begin() + static_cast<std::ptrdiff_t>(m_next * m_ranks));
    m_next = (m_next + 1) % window;
    m_filled = std::min(m_filled + 1, window);
    if (m_filled < window || ++m_sinceJudged < every)
        return {};
    m_sinceJudged = 0;
    return judge(step);
}

StragglerDetector::Window StragglerDetector::timesOf(std::size_t rank, std::size_t what) const {
    Window times{};
    for (std::size_t step = 0; step < window; ++step)
        times.at(step) = valueOf(m_ring[step * m_ranks + rank], what);
    return times;
}

void StragglerDetector::findMiddles() {
    const auto place = static_cast<std::ptrdiff_t>((m_ranks - 2) / 2);
    for (std::size_t what = 0; what < OwnTimes::numbers; ++what)
        for (std::size_t step = 0; step < window; ++step) {
            for (std::size_t rank = 0; rank < m_ranks; ++rank)
                m_scratch[rank] = valueOf(m_ring[step * m_ranks + rank], what);
            const auto first = m_scratch.begin() + place;
            std::nth_element(m_scratch.begin(), first, m_scratch.end());
            m_middles.at(what).at(step) = {*first, *std::min_element(first + 1, m_scratch.end())};
        }
}

StragglerDetector::Window StragglerDetector::othersOf(std::size_t rank, std::size_t what) const {
    const Window own = timesOf(rank, what);
    Window times{};
    for (std::size_t step = 0; step < window; ++step) {
        const auto &[first, second] = m_middles.at(what).at(step);
        times.at(step) = own.at(step) <= first ? second : first;
    }
    return times;
}

StragglerDetector::Window StragglerDetector::ownLagOf(std::size_t rank, std::size_t phase) const {
    Window rest{}, othersRest{};
    for (std::size_t i = 0; i < ownPhases.size(); ++i) {
        if (i == phase)
            continue;
        const Window own = timesOf(rank, 1 + i), others = othersOf(rank, 1 + i);
        for (std::size_t step = 0; step < window; ++step) {
            rest.at(step) += own.at(step);
            othersRest.at(step) += others.at(step);
        }
    }
    const Window own = timesOf(rank, 1 + phase), others = othersOf(rank, 1 + phase);
    const auto lag = [](double late, double usual) { return std::log(std::max(late, least) / std::max(usual, least)); };
    Window left{};
    for (std::size_t step = 0; step < window; ++step) {
        const double besides = lag(rest.at(step), othersRest.at(step));
        left.at(step) = lag(own.at(step), others.at(step)) - besides * (besides > 0 ? ownPower : othersPower);
    }
    return left;
}

bool StragglerDetector::slowIn(std::size_t rank, std::size_t phase, double late, double othersWhole) const {
    return late > matters * othersWhole && inOrder(ownLagOf(rank, phase), outliers) > slower;
}

std::optional<StragglerDetector::Slow> StragglerDetector::slownessOf(std::size_t rank) const {
    const double othersWhole = medianOf(othersOf(rank, 0)), later = medianOf(timesOf(rank, 0)) - othersWhole;
    if (!(later > matters * othersWhole))
        return {};
    Slow slow{ownPhases[0], false, later};
    double most = 0, all = 0;
    for (std::size_t i = 0; i < ownPhases.size(); ++i) {
        const double late = medianOf(timesOf(rank, 1 + i)) - medianOf(othersOf(rank, 1 + i));
        const bool alone = slowIn(rank, i, late, othersWhole);
        all += std::max(late, 0.0);
        if ((late > most && alone == slow.alone) || (alone && !slow.alone)) {
            most = late;
            slow.alone = alone;
            slow.phase = ownPhases.at(i);
        }
    }
    if (!slow.alone && all < later / 2)
        return {};
    return slow;
}

std::optional<StragglerDetector::Verdict> StragglerDetector::judge(std::int64_t step) {
    findMiddles();
    std::optional<Verdict> verdict;
    for (std::size_t rank = 0; rank < m_ranks; ++rank) {
        State &state = m_states[rank];
        const auto slow = slownessOf(rank);
        state.lateSteps = slow ? state.lateSteps + every : 0;
        state.calmSteps = slow ? 0 : state.calmSteps + every;
        const int number = static_cast<int>(rank);
        if (!verdict && slow && !state.named && (slow->alone || state.lateSteps >= lasting)) {
            state.named = slow->phase;
            verdict = Verdict{number, slow->phase, false, slow->readyLaterNs, step};
        } else if (!verdict && state.named && state.calmSteps >= calm) {
            verdict = Verdict{number, *std::exchange(state.named, {}), true, 0, step};
        }
    }
    return verdict;
}

std::string slownessInWords(const StragglerDetector::Verdict &verdict, const std::string &host) {
    return "rank " + std::to_string(verdict.rank) + (host.empty() ? "" : " on " + host) + " is " +
           (verdict.over ? "no longer slower" : "slower") + " than the others in " + std::string(verdict.phase);
}

AlertFrame stragglerAlert(const StragglerDetector::Verdict &verdict, const std::string &host, std::string_view steps) {
    char later[32];
    std::snprintf(later, sizeof later, "%.3g", verdict.readyLaterNs * 1e-6);
    return makeAlert("straggler",
                     slownessInWords(verdict, host) + ": its gradients are ready " + later + " ms later (median of " +
                         std::to_string(StragglerDetector::window) + " " + std::string(steps) +
                         "), so the other ranks wait",
                     verdict.step);
}

} // namespace lockstep
