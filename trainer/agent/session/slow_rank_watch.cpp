// SPDX-License-Identifier: MIT
#include "trainer/agent/session/slow_rank_watch.h"

#include <algorithm>

#include "ipc/methods.h"

namespace lockstep::agent {

namespace {

constexpr double nsPerS = 1e9;

double sumOf(const PhaseTimes &phases, std::string_view name) {
    const auto found = phases.find(name);
    return found == phases.end() ? 0 : found->second.sumS;
}

} // namespace

void SlowRankWatch::take(int number, const Frame &frame) {
    if (const auto *state = std::get_if<StateFrame>(&frame.body))
        return takeState(number, *state);
    const auto *steps = std::get_if<StepsFrame>(&frame.body);
    const auto rank = m_ranks.find(number);
    if (!steps || steps->count <= 0 || rank == m_ranks.end())
        return;
    takeSteps(rank->second, *steps);
    if (m_detector && std::ranges::all_of(m_ranks, [](const auto &each) { return each.second.steps > 0; }))
        judge(steps->lastStep);
}

void SlowRankWatch::takeState(int number, const StateFrame &state) {
    const auto method = state.about.find("method");
    if (state.state != RunState::Init || method == state.about.end() || method->second != toString(Method::Ddp))
        return;
    m_ranks[number] = {.host = state.host};
    const int world = state.worldSize.value_or(0);
    m_detector.reset();
    if (world > 1 && static_cast<int>(m_ranks.size()) == world && m_ranks.rbegin()->first == world - 1)
        m_detector.emplace(world);
}

void SlowRankWatch::takeSteps(Rank &rank, const StepsFrame &steps) {
    rank.steps += steps.count;
    rank.readyS += sumOf(steps.phases, phase::other);
    for (std::size_t i = 0; i < ownPhases.size(); ++i) {
        const double seconds = sumOf(steps.phases, ownPhases.at(i));
        rank.phasesS.at(i) += seconds;
        rank.readyS += seconds;
    }
    rank.summed = rank.summed || steps.phases.contains(phase::exposed);
}

void SlowRankWatch::judge(std::int64_t step) {
    std::vector<OwnTimes> times;
    bool summed = true;
    for (auto &[number, rank] : m_ranks) {
        const double scale = nsPerS / static_cast<double>(rank.steps);
        OwnTimes &own = times.emplace_back();
        own.ready = rank.readyS * scale;
        for (std::size_t i = 0; i < ownPhases.size(); ++i)
            own.phases.at(i) = rank.phasesS.at(i) * scale;
        summed = summed && rank.summed;
        rank = {.host = std::move(rank.host), .summed = rank.summed};
    }
    const auto verdict = summed ? m_detector->add(step, times) : std::nullopt;
    if (!verdict)
        return;
    const std::string &host = m_ranks.at(verdict->rank).host;
    if (verdict->over)
        m_found.emplace_back(LogFrame{"info", slownessInWords(*verdict, host), "agent"});
    else
        m_found.emplace_back(stragglerAlert(*verdict, host, "windows of steps"));
}

} // namespace lockstep::agent
