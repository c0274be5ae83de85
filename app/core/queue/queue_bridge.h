// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <QByteArray>
#include <QDeadlineTimer>
#include <QObject>
#include <QPointer>
#include <QProcess>
#include <QTimer>

#include "ipc/unix_socket.h"
#include "queue/queue_origin.h"

namespace lockstep::core {

/// Follows a queue on another machine by `PREFIX lockstepctl remote follow ID`: receives the queue whenever it changes
/// and sends requests over the same connection. Keeps the copy up to date; a lock lets one of several viewers here
/// write it. Reconnects with back-off (0.25 s to 30 s). Never blocks. The queue does not depend on it. Of snapshots that come
/// faster than they can be taken the newest counts: taking them fills at most a quarter of the time.
///
///   Idle → Connecting → Live → (Lost → Connecting | Failed)
///
/// Protocol: that command reads lines {"number":N,"request":{…}} and, every few seconds, {"beat":true}. Without a beat
/// it ends, so a silently cut link leaves no process there. It prints {"type":"queue",…} and
/// {"type":"answer","number":N[,"error":…]}.
class QueueBridge : public QObject {
    Q_OBJECT
public:
    enum class State { Idle, Connecting, Live, Lost, Failed };
    QueueBridge(std::string experiment, QueueOrigin origin, QObject *parent = nullptr);
    ~QueueBridge() override;

    void start(); ///< also after a failure
    void stop();  ///< goes Idle; unanswered requests fail
    /// Sends the request now, or once the first connection is up. It fails if that machine refuses, if the link breaks
    /// before the answer, or without an answer within `answerLimit`. Returns an error while the link is down: nothing
    /// was requested.
    [[nodiscard]] Asked ask(const QueueRequest &request);

    [[nodiscard]] State state() const { return m_state; }
    /// Why the state is unknown, one sentence: "the link to hostA is lost, the queue's state is unknown"; empty while
    /// live.
    [[nodiscard]] QString sentence() const { return m_sentence; }
    [[nodiscard]] const QueueOrigin &origin() const { return m_origin; }

Q_SIGNALS:
    void seen(const lockstep::core::QueueSnapshot &snapshot);
    void stateChanged();
    void refused(const QString &sentence); ///< for a request whose object is gone

private:
    void connectThere();
    void readyRead();
    void takeLine(const QByteArray &line);
    void takeNewest();
    void forgetNewest();
    void takeSnapshot(const QueueSnapshot &snapshot);
    void disconnected();
    void beat();
    void setState(State state, const QString &sentence = {});
    void takeAnswer(int number, const std::string &error);
    void send(const QueueRequest &request, const QPointer<AwaitedRequest> &waiting);
    void refuseOpen(const QString &why);

    std::string m_id;
    QueueOrigin m_origin;
    std::optional<FileLock> m_lock; ///< for writing the copy
    std::unique_ptr<QProcess> m_process;
    QByteArray m_bytes;
    QByteArray m_newest; ///< the snapshot that waits for m_turn
    QTimer m_retry, m_beat, m_turn;
    QDeadlineTimer m_pause;                         ///< no snapshot is taken before, unless the link ends
    std::map<int, QPointer<AwaitedRequest>> m_open; ///< sent but unanswered, by number
    std::vector<std::pair<QueueRequest, QPointer<AwaitedRequest>>>
        m_forLater; ///< made before the first connection is up; one cancelled since is not sent
    int m_number = 0, m_backoffMs;
    bool m_wasLive = false;
    State m_state = State::Idle;
    QString m_sentence;
};

} // namespace lockstep::core
