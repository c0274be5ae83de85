// SPDX-License-Identifier: MIT
#include "follow/run_follower.h"

#include <algorithm>
#include <utility>

#include <QCoreApplication>
#include <QFile>

#include "base/backoff_detail.h"
#include "follow/agent_control.h"
#include "follow/remote_copy.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/messages.h"
#include "ipc/printable.h"
#include "nodes/known_places.h"
#include "store/run_store.h"
#include "store/status_reader.h"

namespace lockstep::core {
namespace {

constexpr int rereadMs = 50;

QString fromUtf8(std::string_view utf8) {
    return QString::fromUtf8(utf8.data(), qsizetype(utf8.size()));
}

} // namespace

RunFollower::RunFollower(RunStore *store, QString runId, CommandPrefix prefix, QObject *parent)
    : QObject(parent), m_store(store), m_runId(std::move(runId)), m_prefix(std::move(prefix)),
      m_folder(runFolder(m_runId.toStdString())), m_statuses(std::make_shared<StatusReader>()),
      m_link([this](std::string_view line) { takeFromLink(line); }), m_backoffMs(firstBackoffMs) {
    m_retry.setSingleShot(true);
    connect(&m_retry, &QTimer::timeout, this, &RunFollower::replaySlice);
    connect(&m_link, &AgentLink::connected, this, &RunFollower::greet);
    connect(&m_link, &AgentLink::taken, this, &RunFollower::taken);
    connect(&m_link, &AgentLink::closed, this, &RunFollower::disconnected);
}

RunFollower::~RunFollower() {
    if (m_copy)
        m_copy->flush();
    m_asked.fail(agentsName(), "run " + m_runId.toStdString() + " is not followed any more");
}

void RunFollower::start() {
    findPlace();
    readRecord();
    m_store->setLink(LinkState::Replaying);
    m_replay.open(m_folder);
    m_retry.start(0);
}

/// An agent in a Slurm job says where it is some moments after it has made the folder, so that this may be asked again.
void RunFollower::findPlace() {
    if (m_prefix.local())
        if (const auto origin = originOf(m_folder))
            m_prefix = *origin;
    m_askFirst = !m_ownsQueue && !isKnownPlace(m_prefix);
    if (!m_prefix.local() && !m_askFirst) {
        m_copy = std::make_unique<RemoteCopy>(m_folder, m_runId.toStdString(), m_prefix);
        if (const Result<void> opened = m_copy->open(); !opened)
            logInfo("no copy of the run is kept: " + opened.error().message());
    }
    m_node = m_prefix.local() ? ownNode(m_folder) : 0;
}

void RunFollower::readRecord() {
    const std::string stamp = m_haveRecord ? std::string() : fileStamp(m_folder.config());
    if (stamp.empty() || stamp == m_recordStamp)
        return;
    const Result<RunRecord> record = readRunRecord(m_folder);
    if (record) {
        m_store->setRecord(*record);
        m_haveRecord = true;
    }
    if (record || record.error().kind == ErrorKind::BadArgument) // else it could not be read now
        m_recordStamp = stamp;
    m_recordRefused = record || record.error().kind != ErrorKind::BadArgument ? std::string() : record.error().what;
}

/// Reads one slice per turn of the event loop, so that a window stays responsive during a long log.
void RunFollower::replaySlice() {
    readRecord();
    if (refuseRecord())
        return;
    m_replay.open(m_folder);
    const bool more = m_replay.slice([this](std::string_view line, int node) { takeLine(line, node); });
    rereadRecord();
    if (more) {
        m_retry.start(0);
        return;
    }
    reportGaps();
    if (refuseNewerFormat())
        return;
    if (m_prefix.local())
        findPlace();
    if (m_prefix.local())
        checkRunFiles();
    else
        checkRemote();
}

/// Without its record a run would pass for one of which nothing was asked, and be compared as such.
bool RunFollower::refuseRecord() {
    if (m_recordRefused.empty() || !m_prefix.local())
        return false;
    m_store->setLink(LinkState::Failed, QStringLiteral("the run's record can't be read: ") + fromUtf8(m_recordRefused));
    end();
    return true;
}

bool RunFollower::refuseNewerFormat() {
    if (!m_newerFormat)
        return false;
    m_store->setLink(LinkState::Failed,
                     QStringLiteral("the run was written by a newer Lockstep (log format %1, this one knows %2): "
                                    "upgrade this one")
                         .arg(*m_newerFormat)
                         .arg(logFormat));
    end();
    return true;
}

/// The whole log has been read: find the run's state from the files.
void RunFollower::checkRunFiles() {
    const RunStatus status = readRunStatus(m_folder);
    using Kind = RunStatus::Kind;
    if (status.kind == Kind::Finished) {
        // The result may have come between our last read and this check: read once more before believing it.
        if (!m_lines.complete(*status.result) && m_rereads++ < 3)
            return m_retry.start(rereadMs);
        return finishWith(*status.result);
    }
    if (status.kind == Kind::AgentDied || status.kind == Kind::Unknown) {
        const bool hasResult = status.kind == Kind::Unknown && isThere(m_folder.result()); // which can't be used
        if (!hasResult && m_rereads++ < 3) // the same for the log's last lines
            return m_retry.start(rereadMs);
        m_store->setLink(status.kind == Kind::Unknown ? LinkState::Unknown : LinkState::AgentDied,
                         fromUtf8(status.sentence));
        return end();
    }
    if (m_haveRecord && !QFile::exists(QString::fromStdString(m_folder.path))) {
        m_store->setLink(
            LinkState::Failed,
            QStringLiteral("the run's folder %1 was removed while it ran").arg(QString::fromStdString(m_folder.path)));
        return end();
    }
    connectToAgent();
}

void RunFollower::checkRemote() {
    if (const Result<RunResult> result = readRunResult(m_folder); result && m_lines.complete(*result))
        return finishWith(*result);
    if (const std::optional<std::string> sentence = endWithoutResult()) {
        m_store->setLink(LinkState::AgentDied, fromUtf8(*sentence));
        return end();
    }
    connectToAgent();
}

/// On shared storage, which has all that will come of the run: the queue's owner, who asks Slurm, may have found that its job is gone.
std::optional<std::string> RunFollower::endWithoutResult() const {
    if (!isSharedFolder(m_folder))
        return std::nullopt;
    const Result<RunRecord> record = readRunRecord(m_folder);
    if (!record)
        return std::nullopt;
    RunStatus status = m_statuses->read(m_folder, *record);
    return status.kind == RunStatus::Kind::AgentDied ? std::optional(std::move(status.sentence)) : std::nullopt;
}

void RunFollower::connectToAgent() {
    if (m_ended)
        return;
    if (m_askFirst) {
        const std::string id = m_runId.toStdString();
        m_store->setLink(LinkState::Failed, fromUtf8(unknownPlaces("run " + id, id, {m_prefix}).message()));
        return end();
    }
    m_greeted = false;
    m_refusal.clear();
    if (!m_wasLive)
        m_store->setLink(LinkState::Connecting);
    m_retry.stop();
    if (!m_prefix.local())
        return m_link.runCommand(agentCommand(m_prefix, {"attach", m_runId.toStdString()}));
    const Result<std::string> path = runSocketPath(m_runId.toStdString(), m_node);
    if (!path)
        return lost(fromUtf8(path.error().message()));
    m_link.connectToSocket(QString::fromStdString(*path));
}

/// Our hello comes first, on the socket and through the bridge.
void RunFollower::greet() {
    Hello hello;
    hello.role = "follower";
    hello.nextSeq = nextSeq();
    hello.nextSeqs = m_lines.nextSeqsBut(m_node);
    if (m_prefix.local())
        hello.pid = QCoreApplication::applicationPid();
    hello.name = QCoreApplication::applicationName().toStdString();
    hello.ownsQueue = m_ownsQueue;
    (void)m_link.send(encode(hello)); // a lost link emits closed()
}

void RunFollower::takeFromLink(std::string_view line) {
    if (m_greeted)
        takeLine(line);
    else
        takeAnswer(line);
}

void RunFollower::taken() {
    if (m_copy)
        m_copy->flush();
    rereadRecord();
    reportGaps();
    if (!m_ended)
        refuseNewerFormat();
}

void RunFollower::takeAnswer(std::string_view line) {
    m_greeted = true;
    const Result<Hello> hello = decodeHello(line);
    if (!hello) {
        if (line.find("\"type\":\"error\"") != std::string_view::npos ||
            line.find("\"type\":\"hello\"") != std::string_view::npos)
            m_refusal = fromUtf8(hello.error().message());
        else
            takeLine(line); // a bridge without its own hello
        return;
    }
    m_onlyLog = !hello->live;
    m_backoffMs = firstBackoffMs;
    m_wasLive = true;
    m_store->setLink(LinkState::Live);
    readRecord();
    if (!m_haveRecord && m_copy)
        fetchRecord();
}

void RunFollower::fetchRecord() {
    m_copy->fetchStatus([this](const RemoteCopy::Status &status) {
        if (!status.record || m_haveRecord)
            return;
        if (const Result<RunRecord> record = runRecordFromJson(*status.record)) {
            m_store->setRecord(*record);
            m_haveRecord = true;
        }
    });
}

/// The stream ended as for a finished run: fetches its result, or the reason why there is none.
void RunFollower::fetchResult() {
    m_copy->fetchStatus([this](const RemoteCopy::Status &status) {
        if (status.tooLong)
            return endUnread("the run's record and result there are longer than what is read of a run");
        if (status.record && !m_haveRecord)
            if (const Result<RunRecord> record = runRecordFromJson(*status.record))
                m_store->setRecord(*record);
        if (status.result) {
            const Result<RunResult> result = runResultFromJson(*status.result);
            if (result && mayBeOf(m_runId.toStdString(), *result))
                return finishWith(*result);
            return endUnread(result ? "it is that of run " + printableName(result->run) : result.error().message());
        }
        if (status.state == agentDiedState)
            m_copy->keepThatAgentDied();
        if (status.state == agentDiedState || status.state == "unknown") {
            m_store->setLink(status.state == "unknown" ? LinkState::Unknown : LinkState::AgentDied,
                             fromUtf8(status.sentence));
            return end();
        }
        lost(status.state.empty() ? QString() : QStringLiteral("the result has not come yet"));
    });
}

/// Another try would bring the same result.
void RunFollower::endUnread(const std::string &why) {
    m_store->setLink(LinkState::Unknown, fromUtf8("how it ended is unknown, since its result on " + m_prefix.host +
                                                  " can't be used: " + why));
    end();
}

void RunFollower::takeLine(std::string_view line, int hint) {
    if (!line.empty())
        m_lines.take(line, hint, [this](std::string_view record) { takeRecord(record); });
}

void RunFollower::takeRecord(std::string_view record) {
    if (m_copy && m_greeted)
        m_copy->append(record);
    const Result<Frame> frame = m_decoder.decode(record);
    if (!frame)
        return m_store->refuse(frame.error());
    const bool own = frame->node.value_or(m_node) == m_node; // of another node the store leaves a newer log out
    if (const auto *header = std::get_if<HeaderFrame>(&frame->body);
        header && header->format > logFormat && own && canBeOf(m_node, *frame))
        m_newerFormat = header->format;
    if (!frame->rank && own)
        if (const auto *state = std::get_if<StateFrame>(&frame->body)) {
            m_finalSeen = m_finalSeen || isFinal(state->state);
            // By now the record names all machines, and what the ranks say of the run.
            m_recordMayBeNewer = m_recordMayBeNewer || state->state == RunState::Training;
        }
    if (m_greeted)
        m_asked.onFrame(*frame);
    m_store->take(*frame);
}

/// Once for however many lines that came together, since a log can have any number that say so.
void RunFollower::rereadRecord() {
    if (!std::exchange(m_recordMayBeNewer, false))
        return;
    if (fileStamp(m_folder.config()) != m_recordStamp || m_recordStamp.empty())
        m_haveRecord = false;
    readRecord();
    if (m_copy && m_greeted)
        fetchRecord();
}

void RunFollower::reportGaps() {
    const LogGaps gaps = m_lines.gaps();
    if (gaps.count() == m_reportedGaps && m_lines.damagedLines() == m_reportedDamaged)
        return;
    m_reportedGaps = gaps.count();
    m_reportedDamaged = m_lines.damagedLines();
    m_store->setGaps(gaps, m_reportedDamaged);
}

void RunFollower::disconnected(const QString &said, int code) {
    if (m_ended)
        return;
    const QString why = m_refusal.isEmpty() ? said : m_refusal;
    m_greeted = false;
    if (m_finalSeen)
        m_asked.runEnded();
    else
        m_asked.fail(agentsName(),
                     why.isEmpty() ? "the link was lost" : "the link was lost (" + why.toStdString() + ")");
    if (m_prefix.local()) { // the files show whether it finished, died, or only lost the connection
        m_rereads = 0;
        using Kind = RunStatus::Kind;
        const Kind kind = readRunStatus(m_folder).kind;
        if (kind == Kind::Running && !m_refusal.isEmpty()) {
            m_store->setLink(LinkState::Failed, m_refusal);
            return end();
        }
        if (kind == Kind::Running && m_wasLive && !m_finalSeen)
            return lost(why);
        return m_retry.start(rereadMs);
    }
    if (m_finalSeen || (m_onlyLog && code == 0)) {
        return fetchResult();
    }
    if (!m_refusal.isEmpty() || code == 2 || code == 127) { // a refusal by the agent: retrying won't help
        m_store->setLink(LinkState::Failed, why);
        return end();
    }
    lost(why);
}

void RunFollower::lost(const QString &why) {
    QString sentence = fromUtf8(toString(LinkState::Lost));
    if (!why.isEmpty())
        sentence += QStringLiteral(" (") + why + u')';
    if (m_wasLive || !m_prefix.local())
        m_store->setLink(LinkState::Lost, sentence);
    m_retry.start(m_backoffMs);
    m_backoffMs = std::min(2 * m_backoffMs, lastBackoffMs);
}

void RunFollower::finishWith(const RunResult &result) {
    if (const std::vector<LogGap> missing = m_lines.missing(result); !missing.empty()) { // report them
        LogGaps gaps = m_lines.gaps();
        m_reportedGaps = gaps.count();
        m_reportedDamaged = m_lines.damagedLines();
        for (const LogGap &gap : missing)
            gaps.add(gap);
        m_store->setGaps(gaps, m_reportedDamaged);
    }
    m_store->setResult(result);
    m_store->setLink(LinkState::Finished);
    end();
}

void RunFollower::end() {
    if (m_ended)
        return;
    m_ended = true;
    m_asked.runEnded();
    m_retry.stop();
    reportGaps();
    m_store->flush();
    // A viewer of a long queue would hold the files of all its runs. Not at once: this may be called by what holds them.
    QTimer::singleShot(0, this, [this] {
        m_copy.reset();
        m_replay = NodesReplay();
    });
    Q_EMIT ended();
}

std::string RunFollower::agentsName() const {
    return m_prefix.local() ? "the agent of run " + m_runId.toStdString() : m_prefix.host;
}

Asked RunFollower::request(const Control &control) {
    if (const Result<void> sent = m_link.send(encode(control)); !sent)
        return fail(
            Error::failed("the run's agent can't be asked: " + sent.error().what,
                          control.command + " it with: lockstepctl " + control.command + " " + m_runId.toStdString()));
    return m_asked.add(agentsName(), control.by);
}

Asked RunFollower::requestStop(const QString &by, std::string_view experiment) {
    if (m_ended)
        return fail(Error::failed("run " + m_runId.toStdString() + " is over already"));
    const bool elsewhere = !experiment.empty() && !m_prefix.local();
    if (!m_link.open() || !m_greeted || elsewhere)
        return askToStop(m_prefix, m_runId.toStdString(), by.toStdString(), experiment);
    if (const Result<void> own = expectRunOf(experiment, m_folder); !own)
        return fail(own.error());
    return request(Control{"stop", by.toStdString()});
}

Asked RunFollower::requestStacks(const QString &by) {
    if (m_ended)
        return fail(Error::failed("run " + m_runId.toStdString() + " has ended: its ranks are nowhere"));
    if (!m_link.open() || !m_greeted)
        return askForStacks(m_prefix, m_runId.toStdString(), by.toStdString());
    return request(Control{"stacks", by.toStdString()});
}

Asked RunFollower::requestTrace(std::int64_t steps, const QString &by) {
    if (m_ended)
        return fail(Error::failed("run " + m_runId.toStdString() + " has ended: there are no steps to trace"));
    if (!m_link.open() || !m_greeted)
        return askForTrace(m_prefix, m_runId.toStdString(), steps, by.toStdString());
    return request(Control{"trace", by.toStdString(), steps});
}

} // namespace lockstep::core

#include "moc_run_follower.cpp"
