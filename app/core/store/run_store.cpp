// SPDX-License-Identifier: MIT
#include "store/run_store.h"

#include <algorithm>
#include <cmath>

#include "ipc/alerts.h"

namespace lockstep::core {
namespace {

constexpr int changedEveryMs = 33;

} // namespace

RunStore::RunStore(QString runId, QObject *parent) : QObject(parent), m_identity(std::move(runId)) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(changedEveryMs);
    connect(&m_timer, &QTimer::timeout, this, &RunStore::flush);
}

void RunStore::note(Changes what) {
    m_pending |= what;
    if (!m_timer.isActive())
        m_timer.start();
}

void RunStore::flush() {
    m_timer.stop();
    if (!m_pending)
        return;
    const Changes what = std::exchange(m_pending, Changes());
    Q_EMIT changed(what);
}

void RunStore::take(const Frame &frame) {
    ++m_log.frames;
    const int node = frame.node.value_or(0);
    if (node == 0)
        m_identity.useBegin(frame);
    if (m_log.leftOut.contains(node) || !canBeOf(node, frame))
        return;
    if (const auto offsetS = frame.node ? m_links.clockOffsetS(*frame.node) : std::nullopt) {
        Frame here = frame;
        here.wallUs -= std::llround(*offsetS * 1e6);
        return takeHere(here);
    }
    takeHere(frame);
}

void RunStore::refuse(const Error &why) {
    if (++m_log.undecodable > 1)
        return;
    Frame here;
    here.wallUs = m_log.lastWallUs;
    m_messages.take(here, makeAlert(malformedFrame, "a line of the log is left out: " + why.what));
    note(Alerts);
}

void RunStore::takeHere(const Frame &frame) {
    m_log.lastWallUs = std::max(m_log.lastWallUs, frame.wallUs);
    std::visit([&](const auto &body) { takeBody(frame, body); }, frame.body);
}

void RunStore::setRecord(const RunRecord &record) {
    m_identity.setRecord(record);
    m_devices.setRecorded(record.deviceNames);
    m_ranks.setRecorded(std::max(1, record.processes));
    setRanks(m_ranks.expected());
    note(Record | Devices);
}

void RunStore::setRanks(int count) {
    m_losses.setRanks(count);
    m_metrics.setRanks(count);
}

/// No more windows will come: shows points that still wait for other ranks.
void RunStore::joinRanks() {
    m_losses.join();
    m_metrics.flush();
    placeLastEpoch();
}

/// Where the run ended in the middle of its last epoch, so do its curves.
void RunStore::placeLastEpoch() {
    const std::vector<MergedEpoch> &epochs = m_epochs.merged();
    if (!over() || !endInPart(epochs) || !m_length.endAmid(epochs.back().epoch))
        return;
    const EpochPlaces places = placesOf(epochs.back().epoch);
    m_losses.placeAnew(places);
    m_metrics.placeAnew(places);
    for (const auto &[rank, info] : m_ranks.all()) {
        m_losses.placeRankAnew(rank, places);
        m_metrics.placeRankAnew(rank, places);
    }
    note(Loss);
}

EpochPlaces RunStore::placesOf(int epoch) const {
    return {epoch, m_length.lastStepOf(epoch),
            [this, epoch](std::int64_t step) { return m_length.epochsAt(step, epoch); }};
}

void RunStore::setResult(const RunResult &result) {
    m_lifecycle.setResult(result);
    joinRanks();
    note(State | Loss | ProgressChange);
}

void RunStore::setLink(LinkState link, const QString &sentence) {
    if (!m_lifecycle.setLink(link, sentence))
        return;
    if (link == LinkState::Finished || link == LinkState::AgentDied || link == LinkState::Unknown)
        joinRanks();
    note(Link | State | Loss);
}

void RunStore::setGaps(const LogGaps &gaps, std::uint64_t damagedLines) {
    m_log.gaps = gaps;
    m_log.damagedLines = damagedLines;
    note(Gaps);
}

void RunStore::takeBody(const Frame &frame, const HeaderFrame &body) {
    m_identity.useRunId(body.run);
    const int node = frame.node.value_or(0);
    const std::string why = whyLeftOut(node, body, runId().toStdString());
    if (why.empty() || !m_log.leftOut.try_emplace(node, why).second)
        return;
    m_messages.take(frame, makeAlert(otherLog, why));
    note(Alerts);
}

void RunStore::takeBody(const Frame &frame, const StateFrame &body) {
    m_messages.take(frame, body);
    if (!frame.rank && frame.node.value_or(0) > 0)
        return; // only agent 0 reports the state of the whole run
    m_lifecycle.take(frame, body);
    if (frame.rank) {
        m_ranks.take(*frame.rank, frame, body);
        m_epochs.take(*frame.rank, body);
        m_identity.addState(frame.node.value_or(0), *frame.rank, body);
        if (!body.about.empty())
            note(Record | ProgressChange);
    } else if (isFinal(body.state)) {
        joinRanks();
    }
    if (body.worldSize) {
        m_ranks.setWorldSize(*body.worldSize);
        if (!record())
            setRanks(*body.worldSize);
    }
    m_length.take(body, frame.node.value_or(0));
    note(State | ProgressChange);
}

void RunStore::takeBody(const Frame &frame, const StepsFrame &body) {
    const StepNumbers::Numbered numbered = m_numbers.take(*frame.rank, body, m_length, frame.node.value_or(0));
    if (numbered.alone) {
        ++m_log.madeAgainAlone;
        return;
    }
    if (numbered.again)
        m_length.forget(body.epoch);
    if (numbered.shift == 0)
        return takeSteps(frame, body);
    StepsFrame ofRun = body;
    ofRun.firstStep += numbered.shift;
    ofRun.lastStep += numbered.shift;
    takeSteps(frame, ofRun);
}

void RunStore::takeSteps(const Frame &frame, const StepsFrame &body) {
    const int rank = *frame.rank;
    m_length.take(body);
    m_ranks.take(rank, body);
    forget(m_epochs.take(rank, body));
    m_phases.take(rank, frame, body);
    m_epochs.running(body.epoch, m_phases.runningS(rank));
    LossPoint place;
    place.step = body.lastStep;
    place.epoch = m_length.placeOf(body.lastStep, body.epoch);
    place.wallUs = frame.wallUs;
    place.runS = m_ranks.trainedS(rank, frame.monoNs);
    m_metrics.take(rank, body, place);
    m_losses.take(rank, place, body);
    note(Changes(Loss) | Phases | Epochs | ProgressChange);
}

void RunStore::takeBody(const Frame &frame, const EpochFrame &body) {
    const int rank = *frame.rank;
    if (m_numbers.makesAgainAlone(rank)) {
        ++m_log.madeAgainAlone;
        return;
    }
    forget(m_epochs.madeAgain(body.epoch));
    if (!m_epochs.take(rank, frame, body, m_ranks.expected(), record() && isScript(*record())))
        return;
    m_metrics.take(rank, body);
    m_phases.take(rank, body);
    note(Changes(Epochs) | Phases);
    const RunLength::Misplaced misplaced = m_length.take(rank, body);
    if (!misplaced.ofAll && !misplaced.ofRank)
        return;
    const EpochPlaces places = placesOf(body.epoch);
    if (misplaced.ofAll) {
        m_losses.placeAnew(places);
        m_metrics.placeAnew(places);
    }
    if (misplaced.ofRank) {
        m_losses.placeRankAnew(rank, places);
        m_metrics.placeRankAnew(rank, places);
    }
    note(Loss);
}

void RunStore::takeBody(const Frame &frame, const CommFrame &body) {
    if (!body.buckets.empty() && (m_buckets.empty() || *frame.rank <= m_bucketsRank)) {
        m_buckets = body.buckets;
        m_bucketsRank = *frame.rank;
    }
    if (body.staleness.empty() && body.stageWork.empty())
        return;
    m_updates.take(*frame.rank, body);
    m_stages.take(*frame.rank, body);
    note(Phases);
}

/// Of ranks that were restarted.
void RunStore::forget(const std::vector<RankEpoch> &lost) {
    for (const RankEpoch &one : lost)
        m_phases.forget(one.rank, one.frame);
}

void RunStore::takeBody(const Frame &frame, const EvalFrame &body) {
    if (m_epochs.take(frame, body))
        note(Epochs);
}

void RunStore::takeBody(const Frame &frame, const DeviceFrame &body) {
    m_devices.take(frame, body);
    for (const ProcessSample &process : body.processes)
        m_ranks.take(process);
    note(Devices);
}

void RunStore::takeBody(const Frame &frame, const LogFrame &body) {
    m_messages.take(frame, body);
    note(Console);
}

void RunStore::takeBody(const Frame &frame, const AlertFrame &body) {
    m_messages.take(frame, body);
    if (!frame.rank && isRestart(body)) {
        m_numbers.startOver();
        m_epochs.startOver();
    }
    note(Alerts);
}

void RunStore::takeBody(const Frame &frame, const ExitFrame &body) {
    m_ranks.take(*frame.rank, body);
    m_messages.take(frame, body);
    note(Changes(State) | Console);
}

void RunStore::takeBody(const Frame &frame, const LinkFrame &body) {
    m_links.take(frame, body);
    note(Link | State);
}

} // namespace lockstep::core

#include "moc_run_store.cpp"
