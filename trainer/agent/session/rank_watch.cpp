// SPDX-License-Identifier: MIT
#include "trainer/agent/session/rank_watch.h"

#include <chrono>
#include <utility>

#include "ipc/alerts.h"

namespace lockstep::agent {
namespace {

std::chrono::duration<double> hangAfter(const RunRecord &record) {
    return std::chrono::duration<double>(record.config.value_or(RunConfig()).hangAfter);
}

HangWatch::Ranks ranksOf(const RunRecord &record) {
    return isScript(record) ? HangWatch::Ranks::Scripts : HangWatch::Ranks::Trainer;
}

} // namespace

RankWatch::RankWatch(const Clock &clock, RunJournal &journal, const RunRecord &record)
    : m_clock(clock), m_journal(journal), m_hangs(hangAfter(record), ranksOf(record)) {}

void RankWatch::setRecord(const RunRecord &record) {
    m_hangs.set(hangAfter(record), ranksOf(record));
}

void RankWatch::take(int rank, const Frame &frame) {
    m_hangs.take(rank, frame, m_clock.monoNs());
    m_slowRanks.take(rank, frame);
    for (FrameBody &found : m_slowRanks.takeFound()) {
        m_journal.append(std::move(found));
        m_journal.requestSync();
    }
}

bool RankWatch::hangBegins(int rankCount, const std::function<std::string(int rank)> &processOf) {
    auto hang = m_hangs.check(m_clock.monoNs(), rankCount, processOf);
    if (!hang)
        return false;
    const bool begins = hang->kind == AlertName("hang").row().kind; // else it is over
    m_journal.append(std::move(*hang));
    m_journal.requestSync();
    return begins;
}

void RankWatch::startOver() {
    m_hangs.startOver();
    m_slowRanks.startOver();
}

void RankWatch::startOver(int rank, bool first) {
    if (first)
        startOver();
    else
        m_hangs.startOver(rank);
}

} // namespace lockstep::agent
