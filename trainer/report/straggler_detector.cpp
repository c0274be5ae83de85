#include "trainer/report/straggler_detector.h"

#include <algorithm>
#include <utility>

namespace lockstep::trainer {

namespace {

constexpr double slower = 0.25;  ///< of the others' time in that phase
constexpr double matters = 0.05; ///< of the others' whole own time: less than that nobody waits for

double valueOf(const OwnTimes &times, std::size_t what) {
    return what == 0 ? times.ready : times.phases.at(what - 1);
}

double medianOf(std::array<double, StragglerDetector::window> values) {
    const auto middle = values.begin() + values.size() / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

StragglerDetector::StragglerDetector(int ranks)
    : m_ranks(static_cast<std::size_t>(std::max(ranks, 0))), m_ring(window * m_ranks), m_others(window),
      m_states(m_ranks), m_scratch(m_ranks) {}

std::optional<StragglerDetector::Verdict> StragglerDetector::add(std::int64_t step, std::span<const OwnTimes> ranks) {
    if (ranks.size() != m_ranks || m_ranks < 2)
        return {};
    std::copy(ranks.begin(), ranks.end(), m_ring.begin() + static_cast<std::ptrdiff_t>(m_next * m_ranks));
    for (std::size_t what = 0; what < OwnTimes::numbers; ++what) {
        std::transform(ranks.begin(), ranks.end(), m_scratch.begin(),
                       [what](const OwnTimes &times) { return valueOf(times, what); });
        const auto middle = m_scratch.begin() + static_cast<std::ptrdiff_t>((m_ranks - 1) / 2);
        std::nth_element(m_scratch.begin(), middle, m_scratch.end());
        m_others[m_next].at(what) = *middle;
    }
    m_next = (m_next + 1) % window;
    m_filled = std::min(m_filled + 1, window);
    if (m_filled < window || ++m_sinceJudged < every)
        return {};
    m_sinceJudged = 0;
    return judge(step);
}

StragglerDetector::Lateness StragglerDetector::latenessOf(std::size_t rank, std::size_t what) const {
    Lateness out;
    std::array<double, window> others{};
    for (std::size_t step = 0; step < window; ++step) {
        others.at(step) = m_others[step].at(what);
        out.steps.at(step) = valueOf(m_ring[step * m_ranks + rank], what) - others.at(step);
    }
    out.median = medianOf(out.steps);
    out.others = medianOf(others);
    return out;
}

/// By which share a phase lags more than the rank's other phases together, median of the steps.
double StragglerDetector::beyondTheRest(std::size_t rank, std::size_t phase) const {
    std::array<double, window> beyond{};
    for (std::size_t step = 0; step < window; ++step) {
        const auto &own = m_ring[step * m_ranks + rank].phases;
        double all = 0, othersAll = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
            all += own.at(i);
            othersAll += m_others[step].at(1 + i);
        }
        // What takes the others no time has no share to compare: as if it took them a thousandth.
        const double least = std::max(1e-3 * othersAll, 1.0), others = std::max(m_others[step].at(1 + phase), least);
        const double rest = std::max(othersAll - m_others[step].at(1 + phase), least);
        beyond.at(step) = own.at(phase) / others - 1 - std::max(0.0, (all - own.at(phase)) / rest - 1);
    }
    return medianOf(beyond);
}

std::optional<StragglerDetector::Slow> StragglerDetector::slownessOf(std::size_t rank) const {
    const Lateness ready = latenessOf(rank, 0);
    if (!(ready.median > matters * ready.others))
        return {};
    Slow slow{ownPhases[0], false, ready.median};
    double most = 0, mostAlone = 0;
    for (std::size_t i = 0; i < ownPhases.size(); ++i) {
        const Lateness late = latenessOf(rank, 1 + i);
        const bool alone = late.median > slower * late.others && late.median > matters * ready.others &&
                           beyondTheRest(rank, i) > slower;
        if (alone && late.median > mostAlone) {
            mostAlone = late.median;
            slow.alone = true;
            slow.phase = ownPhases.at(i);
        } else if (!slow.alone && late.median > most) {
            most = late.median;
            slow.phase = ownPhases.at(i);
        }
    }
    return slow;
}

std::optional<StragglerDetector::Verdict> StragglerDetector::judge(std::int64_t step) {
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

} // namespace lockstep::trainer
