#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <QObject>
#include <QProcess>
#include <QTimer>

#include "ipc/unix_socket.h"
#include "launch/queue_origin.h"

namespace lockstep::core {

/// Follows a queue that lives elsewhere, by `PREFIX lockstepctl remote follow ID`: the queue whenever it changes, and what is asked
/// of it over the same way. Keeps the copy fresh; of several viewers on this machine one writes it, by lock. Connects again with
/// back-off (0.25 s to 30 s). Never blocks. Owns nothing: the queue does not know or care.
///
///   Idle → Connecting → Live → (Lost → Connecting | Failed)
///
/// On its stdin that command takes, a line each, {"number":N,"request":{…}} and {"beat":true} every few seconds, without which it
/// ends: a link that is cut silently leaves no process there. It says {"type":"queue",…} and {"type":"answer","number":N[,"error":…]}.
class QueueBridge : public QObject {
    Q_OBJECT
public:
    enum class State { Idle, Connecting, Live, Lost, Failed };
    QueueBridge(std::string experiment, QueueOrigin origin, QObject *parent = nullptr);
    ~QueueBridge() override;

    void start(); ///< again after a failure, too
    void stop();  ///< Idle; what was asked and not answered is told as refused
    /// Sends the request; refused() follows where that machine says no, or the link breaks before it answers. An error while the link
    /// is down: nothing was asked.
    [[nodiscard]] Result<void> ask(const QueueRequest &request);

    [[nodiscard]] State state() const { return m_state; }
    /// Why there is no fresh word, one sentence: "the link to hostA is lost, the queue's state is unknown"; empty while live.
    [[nodiscard]] QString sentence() const { return m_sentence; }
    [[nodiscard]] const QueueOrigin &origin() const { return m_origin; }

Q_SIGNALS:
    void seen(const lockstep::core::QueueSight &sight);
    void stateChanged();
    void refused(const QString &sentence);

private:
    void connectThere();
    void readyRead();
    void takeLine(const QByteArray &line);
    void disconnected();
    void beat();
    void setState(State state, const QString &sentence = {});
    void refuseOpen(const QString &why);

    std::string m_id;
    QueueOrigin m_origin;
    std::optional<FileLock> m_lock; ///< of the copy
    std::unique_ptr<QProcess> m_process;
    QByteArray m_bytes;
    QTimer m_retry, m_beat;
    std::deque<int> m_open;              ///< numbers of requests without an answer
    std::deque<QueueRequest> m_forLater; ///< asked while the first connection comes up
    int m_number = 0, m_backoffMs;
    bool m_wasLive = false;
    State m_state = State::Idle;
    QString m_sentence;
};

} // namespace lockstep::core
