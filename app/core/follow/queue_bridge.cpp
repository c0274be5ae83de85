#include "follow/queue_bridge.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "follow/backoff_detail.h"
#include "ipc/logging.h"

namespace lockstep::core {
namespace {

constexpr int beatMs = 3000;
constexpr qsizetype largestLine = 64 << 20; ///< a queue of some ten thousand runs

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
}

QueueBridge::~QueueBridge() {
    if (!m_process)
        return;
    m_process->disconnect(this);
    m_process->kill();
    m_process->waitForFinished(500);
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
    if (m_process) {
        m_process->disconnect(this);
        m_process->kill();
        m_process.release()->deleteLater();
    }
    refuseOpen(QStringLiteral("nobody waits for an answer of %1 any more").arg(named(m_origin)));
    m_lock.reset();
    setState(State::Idle);
}

void QueueBridge::connectThere() {
    m_process = std::make_unique<QProcess>();
    m_bytes.clear();
    QStringList words;
    for (const std::string &word : ctlCommand(m_origin, {"remote", "follow", m_id}))
        words << QString::fromStdString(word);
    connect(m_process.get(), &QProcess::readyReadStandardOutput, this, &QueueBridge::readyRead);
    connect(m_process.get(), &QProcess::finished, this, &QueueBridge::disconnected);
    connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            disconnected();
    });
    if (!m_wasLive)
        setState(State::Connecting, QStringLiteral("%1 keeps the queue and has not answered yet").arg(named(m_origin)));
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
    m_bytes += m_process->readAllStandardOutput();
    if (m_bytes.size() > largestLine)
        return m_process->kill(); // not our protocol
    for (qsizetype end = m_bytes.indexOf('\n'); end >= 0; end = m_bytes.indexOf('\n')) {
        const QByteArray line = m_bytes.left(end);
        m_bytes.remove(0, end + 1);
        takeLine(line);
        if (!m_process) // a slot has stopped us
            return;
    }
}

void QueueBridge::takeLine(const QByteArray &line) {
    const auto json = nlohmann::json::parse(line.constData(), line.constData() + line.size(), nullptr, false);
    if (!json.is_object())
        return;
    if (json.value("type", "") == "answer") {
        const int number = json.value("number", 0);
        std::erase(m_open, number);
        if (const std::string error = json.value("error", ""); !error.empty())
            Q_EMIT refused(QString::fromStdString("on " + m_origin.prefix.host + ": " + error));
        return;
    }
    const Result<QueueSight> sight = sightFromJson({line.constData(), std::size_t(line.size())}, m_origin);
    if (!sight || sight->experiment.id != m_id) {
        logWarning("a line about another queue than " + m_id + " was dropped");
        return;
    }
    if (!m_lock) // else another viewer keeps the copy
        if (Result<FileLock> lock = FileLock::acquire(experimentFolder(m_id).path + "/copy.lock"))
            m_lock = std::move(*lock);
    if (m_lock && queueOriginOf(m_id)) // a copy that was removed stays so
        if (const Result<void> kept = keepCopy(*sight); !kept)
            logWarning("the copy of queue " + m_id + " can't be written: " + kept.error().message());
    m_backoffMs = firstBackoffMs;
    m_wasLive = true;
    Q_EMIT seen(*sight); // before it counts as known: what was known before is not true any more
    setState(State::Live);
    for (const QueueRequest &request : std::exchange(m_forLater, {}))
        if (const Result<void> asked = ask(request); !asked)
            Q_EMIT refused(QString::fromStdString(asked.error().message()));
}

Result<void> QueueBridge::ask(const QueueRequest &request) {
    QueueRequest command = request;
    command.generation.reset(); // of the seat here, which is not the one there
    if (m_state == State::Connecting) {
        m_forLater.push_back(command);
        return {};
    }
    if (m_state != State::Live || !m_process)
        return fail(Error::failed(m_sentence.isEmpty() ? m_origin.prefix.host + " keeps the queue and is not asked now"
                                                       : m_sentence.toStdString(),
                                  "nothing was asked: ask again when the link is back"));
    const int number = ++m_number;
    const nlohmann::json line = {{"number", number}, {"request", nlohmann::json::parse(toJson(command))}};
    m_open.push_back(number);
    m_process->write(QByteArray::fromStdString(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
                     '\n');
    return {};
}

void QueueBridge::disconnected() {
    if (!m_process)
        return;
    readyRead();
    m_beat.stop();
    const bool neverStarted = m_process->error() == QProcess::FailedToStart;
    const int code = neverStarted                                      ? shellFoundNothing
                     : m_process->exitStatus() == QProcess::NormalExit ? m_process->exitCode()
                                                                       : 255;
    const QString said = QString::fromStdString(complaintOf(
        {code, {}, QString::fromUtf8(m_process->readAllStandardError()).trimmed().section(u'\n', -1).toStdString()}));
    m_process.release()->deleteLater();
    if (code == exitBadArguments || code == shellFoundNothing) { // said there: trying again won't help
        const QString why = QStringLiteral("%1 does not know the queue any more: %2").arg(named(m_origin), said);
        refuseOpen(why);
        return setState(State::Failed, why);
    }
    QString why = QStringLiteral("the link to %1 is lost, the queue's state is unknown").arg(named(m_origin));
    if (!said.isEmpty())
        why += QStringLiteral(" (") + said + u')';
    m_wasLive = true; // from now on it is a link that was lost
    setState(State::Lost, why);
    refuseOpen(why);
    m_retry.start(m_backoffMs);
    m_backoffMs = std::min(2 * m_backoffMs, lastBackoffMs);
}

void QueueBridge::refuseOpen(const QString &why) {
    const std::size_t open = m_open.size() + m_forLater.size();
    const bool sent = !m_open.empty();
    m_open.clear();
    m_forLater.clear();
    if (open > 0)
        Q_EMIT refused(sent ? QStringLiteral("%1; whether the last request arrived is not known").arg(why)
                            : QStringLiteral("%1; nothing was asked").arg(why));
}

void QueueBridge::setState(State state, const QString &sentence) {
    if (state == m_state && sentence == m_sentence)
        return;
    m_state = state;
    m_sentence = sentence;
    Q_EMIT stateChanged();
}

} // namespace lockstep::core
