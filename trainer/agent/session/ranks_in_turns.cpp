// SPDX-License-Identifier: MIT
#include "trainer/agent/session/ranks_in_turns.h"

#include <signal.h>

#include <filesystem>
#include <utility>
#include <variant>

#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

namespace {

constexpr const char *pausedEnding = ".paused";

/// Removes the files of runs whose agents were killed together with their keepers: of such a run there is no socket any more.
void removeLeftPausedTimes(const std::string &folder) {
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string run = entry.path().stem().string();
        if (entry.path().extension() != pausedEnding || !isRunId(run))
            continue;
        if (const auto socket = runSocketPath(run); socket && !std::filesystem::exists(*socket, ignored))
            std::filesystem::remove(entry.path(), ignored);
    }
}

} // namespace

Result<std::unique_ptr<RanksInTurns>> RanksInTurns::join(EventLoop &loop, const Clock &clock, LaunchPlan &plan,
                                                         const std::string &folder, GroupKeeper &keeper,
                                                         RunSamples &samples, RunSamples::Ranks living) {
    const RunRecord &record = plan.record;
    if (plan.nodes.count > 1 || !isRunId(record.experiment))
        return fail(
            Error::badArgument("only runs of an experiment on one machine can take turns", "leave in_turns out"));
    removeLeftPausedTimes(folder);
    auto paused = PausedTime::create(folder + "/" + record.run + pausedEnding);
    if (!paused)
        return fail(paused.error());
    keeper.removeLater(paused->path());
    std::unique_ptr<RanksInTurns> out(new RanksInTurns(std::move(*paused), samples, std::move(living)));
    auto turns = Turns::join(loop, clock, folder + "/" + record.experiment + ".turns", out->m_paused,
                             {[ranks = out.get()] { ranks->pause(); }, [ranks = out.get()] { ranks->goOn(); }});
    if (!turns)
        return fail(turns.error());
    out->m_turns = std::move(*turns);
    for (RankPlan &rank : plan.ranks)
        rank.environment.emplace_back(PausedTime::variable, out->m_paused.path());
    return out;
}

RanksInTurns::RanksInTurns(PausedTime paused, RunSamples &samples, RunSamples::Ranks living)
    : m_paused(std::move(paused)), m_samples(samples), m_living(std::move(living)) {}

std::vector<pid_t> RanksInTurns::processes() const {
    std::vector<pid_t> out;
    for (const Sampler::Watched &rank : m_living())
        for (const pid_t pid : treeOf(rank.pid)) // some may have left the rank's group
            out.push_back(pid);
    return out;
}

void RanksInTurns::signal(int number) const {
    for (const pid_t pid : processes())
        ::kill(pid, number);
    for (const Sampler::Watched &rank : m_living())
        ::kill(-rank.pid, number); // children that were started meanwhile
}

/// They don't notice a request to end before their next turn, which is near.
void RanksInTurns::pause() {
    ++m_pauses;
    m_waiting += anyComputes(processes()) ? 0 : 1;
    signal(SIGSTOP);
    m_samples.pause();
}

void RanksInTurns::goOn() {
    m_samples.goOn();
    signal(SIGCONT);
}

void RanksInTurns::take(int rank, const Frame &frame) {
    if (const auto *state = std::get_if<StateFrame>(&frame.body); state && state->state == RunState::Init) {
        if (state->leavesPausesOut)
            m_leavingOut.insert(rank);
        else
            m_leavingOut.erase(rank); // another process is this rank now
    }
    const bool steps = std::holds_alternative<StepsFrame>(frame.body);
    if (steps)
        stepsReported();
    if (steps || std::holds_alternative<EpochFrame>(frame.body))
        m_taken.counted = m_taken.counted || !m_leavingOut.contains(rank);
}

void RanksInTurns::end() {
    if (m_turns)
        m_taken.lost = m_turns->lost();
    m_turns.reset();
}

void RanksInTurns::stepsReported() {
    if (!std::exchange(m_stepsSeen, true)) {
        m_pauses = m_waiting = 0;
        return;
    }
    m_taken.pauses = m_pauses;
    m_taken.waiting = m_waiting;
}

TurnsTaken RanksInTurns::taken() const {
    TurnsTaken out = m_taken;
    out.pausedS = static_cast<double>(m_paused.totalNs()) * 1e-9;
    out.counted = out.counted || !m_paused.wroteAll();
    return out;
}

} // namespace lockstep::agent
