// SPDX-License-Identifier: MIT
#include "queue/queue_bridge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>
#include <QElapsedTimer>

#include "base/backoff_detail.h"
#include "base/command_request.h"
#include "base/last_line.h"
#include "follow/agent_control.h"
#include "ipc/documents.h"
#include "ipc/logging.h"
#include "ipc/printable.h"

namespace lockstep::core {
namespace {

constexpr int beatMs = 3000;
constexpr qsizetype largestLine = 64 << 20; ///< a queue of ten thousand runs
constexpr qsizetype largestAnswerLine = 2 << 20;
constexpr int pauseTimesAsLong = 3; ///< the pause after a snapshot, as a multiple of the time that it took

QString named(const QueueOrigin &origin) {
    return QString::fromStdString(origin.prefix.host);
}

} // namespace

QueueBridge::QueueBridge(std::string experiment, QueueOrigin origin, QObject *parent)
    : QObject(parent), m_id(std::move(experiment)), m_origin(std::move(origin)), m_backoffMs(firstBackoffMs) {
    m_retry.setSingleShot(true);
    connect(&m_retry, &QTimer::timeout, this, &QueueBridge::connectThere);
    m_beat.setInterval(beatMs);
    connect(&m_beat, &QTimer::timeout, this, &QueueBridge::beat);
    m_turn.setSingleShot(true);
    connect(&m_turn, &QTimer::timeout, this, &QueueBridge::takeNewest);
}

QueueBridge::~QueueBridge() {
    endWithoutWaiting(std::move(m_process));
    refuseOpen(QStringLiteral("the queue is no longer followed"));
}

void QueueBridge::start() {
    if (m_process || m_retry.isActive())
        return;
    m_backoffMs = firstBackoffMs;
    m_wasLive = false;
    connectThere();
}

void QueueBridge::stop() {
    m_retry.stop();
    m_beat.stop();
    endWithoutWaiting(std::move(m_process));
    forgetNewest();
    refuseOpen(QStringLiteral("the request to %1 was cancelled").arg(named(m_origin)));
    m_lock.reset();
    setState(State::Idle);
}

void QueueBridge::connectThere() {
    if (const Result<void> known = checkPlaces(m_id, m_origin); !known)
        return setState(State::Failed, QString::fromStdString(known.error().message()));
    m_process = std::make_unique<QProcess>();
    m_bytes.clear();
    QStringList words;
    for (const std::string &word : ctlCommand(m_origin, {"remote", "follow", m_id}))
        words << QString::fromStdString(word);
    boundOutput(*m_process, largestLine);
    connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &QueueBridge::readyRead);
    connect(m_process.get(), &QProcess::finished, this, &QueueBridge::disconnected);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            disconnected();
    });
    if (!m_wasLive)
        setState(State::Connecting, QStringLiteral("%1 owns the queue and has not answered yet").arg(named(m_origin)));
    m_process->start(words.takeFirst(), words);
    m_beat.start();
}

void QueueBridge::beat() {
    if (m_process)
        m_process->write("{\"beat\":true}\n");
}

void QueueBridge::readyRead() {
    if (!m_process)
        return;
    const qsizetype before = m_bytes.size();
    m_bytes += m_process->readAllStandardOutput();
    if (m_bytes.size() > largestLine)
        return m_process->kill(); // not our protocol
    const qsizetype whole = QByteArrayView(m_bytes).sliced(before).lastIndexOf('\n');
    if (whole < 0)
        return;
    const QByteArray lines = m_bytes.left(before + whole + 1);
    m_bytes.remove(0, lines.size());
    const QProcess *const from = m_process.get();
    for (qsizetype begin = 0; begin < lines.size() && m_process.get() == from;) { // a slot may call stop()
        const qsizetype end = lines.indexOf('\n', begin);
        takeLine(lines.mid(begin, end - begin));
        begin = end + 1;
    }
}

/// A snapshot may be large and others follow, so that it waits unread, and only the newest does.
void QueueBridge::takeLine(const QByteArray &line) {
    if (line.startsWith("{\"type\":\"queue\"")) {
        m_newest = line;
        if (!m_turn.isActive())
            m_turn.start(std::chrono::milliseconds(m_pause.remainingTime()));
        return;
    }
    if (line.isEmpty() || line.size() > largestAnswerLine)
        return;
    const auto json = documents::objectOrNull({line.constData(), std::size_t(line.size())});
    if (documents::valueIn(json, "type", "") == "answer")
        takeAnswer(documents::valueIn(json, "number", 0), cutText(documents::valueIn(json, "error", "")));
}

void QueueBridge::takeNewest() {
    const QByteArray line = std::exchange(m_newest, {});
    QElapsedTimer taking;
    taking.start();
    const Result<QueueSnapshot> snapshot = snapshotFromJson({line.constData(), std::size_t(line.size())}, m_origin);
    if (snapshot && snapshot->experiment.id == m_id)
        takeSnapshot(*snapshot);
    else
        logWarning("dropped a line that is not about queue " + m_id);
    m_pause.setRemainingTime(m_pause.remainingTime() + pauseTimesAsLong * taking.elapsed());
}

void QueueBridge::forgetNewest() {
    m_turn.stop();
    m_newest.clear();
}

void QueueBridge::takeSnapshot(const QueueSnapshot &snapshot) {
    if (!m_lock) // without it another viewer writes the copy
        if (Result<FileLock> lock = FileLock::acquire(experimentFolder(m_id).path + "/copy.lock"))
            m_lock = std::move(*lock);
    if (m_lock && queueOriginOf(m_id)) // a removed copy is not recreated
        if (const Result<void> kept = keepCopy(snapshot); !kept)
            logWarning("the copy of queue " + m_id + " can't be written: " + kept.error().message());
    m_backoffMs = firstBackoffMs;
    m_wasLive = true;
    Q_EMIT seen(snapshot); // before the state becomes Live: the old state is outdated
    setState(State::Live);
    for (const auto &[request, waiting] : std::exchange(m_forLater, {}))
        if (waiting && !waiting->over() && m_process)
            send(request, waiting);
}

void QueueBridge::takeAnswer(int number, const std::string &error) {
    const auto found = m_open.find(number);
    const QPointer<AwaitedRequest> waiting = found == m_open.end() ? nullptr : found->second;
    m_open.erase(number);
    const std::string sentence = "on " + m_origin.prefix.host + ": " + error;
    if (waiting && !waiting->over())
        waiting->answer(error.empty() ? Result<void>() : fail(Error::failed(sentence)));
    else if (!error.empty())
        Q_EMIT refused(QString::fromStdString(sentence));
}

Asked QueueBridge::ask(const QueueRequest &request) {
    QueueRequest command = request;
    command.generation.reset(); // control is per machine
    auto waiting = std::make_unique<AwaitedRequest>(answerLimit, noAnswerFrom(m_origin.prefix.host));
    if (m_state == State::Connecting) {
        m_forLater.emplace_back(command, waiting.get());
        return waiting;
    }
    if (m_state != State::Live || !m_process)
        return fail(Error::failed(m_sentence.isEmpty() ? m_origin.prefix.host + " runs the queue but is not connected"
                                                       : m_sentence.toStdString(),
                                  "nothing was requested: try again when the link is back"));
    send(command, waiting.get());
    return waiting;
}

void QueueBridge::send(const QueueRequest &request, const QPointer<AwaitedRequest> &waiting) {
    const int number = ++m_number;
    const nlohmann::json line = {{"number", number}, {"request", nlohmann::json::parse(toJson(request))}};
    m_open[number] = waiting;
    m_process->write(QByteArray::fromStdString(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
                     '\n');
}

void QueueBridge::disconnected() {
    if (!m_process)
        return;
    readyRead();
    if (m_turn.isActive()) { // what it said last
        m_turn.stop();
        takeNewest();
    }
    if (!m_process) // a slot has called stop()
        return;
    m_beat.stop();
    const bool neverStarted = m_process->error() == QProcess::FailedToStart;
    const int code = neverStarted                                      ? shellFoundNothing
                     : m_process->exitStatus() == QProcess::NormalExit ? m_process->exitCode()
                                                                       : 255;
    const QString said =
        QString::fromStdString(complaintOf({code, {}, lastLine(endOfStderr(*m_process)).toStdString()}));
    m_process.release()->deleteLater();
    if (code == exitBadArguments || code == shellFoundNothing) { // the answer of that machine: retrying won't help
        const QString why = QStringLiteral("%1 does not know the queue any more: %2").arg(named(m_origin), said);
        refuseOpen(why);
        return setState(State::Failed, why);
    }
    QString why = QStringLiteral("the link to %1 is lost, the queue's state is unknown").arg(named(m_origin));
    if (!said.isEmpty())
        why += QStringLiteral(" (") + said + u')';
    m_wasLive = true; // from now on the link counts as lost
    setState(State::Lost, why);
    refuseOpen(why);
    m_retry.start(int(std::max<qint64>(m_backoffMs, m_pause.remainingTime())));
    m_backoffMs = std::min(2 * m_backoffMs, lastBackoffMs);
}

void QueueBridge::refuseOpen(const QString &why) {
    const Error sent = Error::failed(why.toStdString() + "; the last request may or may not have arrived",
                                     "try again when the link is back");
    const Error kept = Error::failed(why.toStdString() + "; nothing was requested", "try again when the link is back");
    bool unheld = false;
    for (const auto &[number, waiting] : std::exchange(m_open, {}))
        if (waiting)
            waiting->answer(fail(sent));
        else
            unheld = true;
    for (const auto &[request, waiting] : std::exchange(m_forLater, {}))
        if (waiting)
            waiting->answer(fail(kept));
    if (unheld)
        Q_EMIT refused(QString::fromStdString(sent.message()));
}

void QueueBridge::setState(State state, const QString &sentence) {
    if (state == m_state && sentence == m_sentence)
        return;
    m_state = state;
    m_sentence = sentence;
    Q_EMIT stateChanged();
}

} // namespace lockstep::core

#include "moc_queue_bridge.cpp"
