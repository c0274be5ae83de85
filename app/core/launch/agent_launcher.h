#pragma once
#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "ipc/error.h"
#include "ipc/run_folder.h"
#include "launch/command_prefix.h"

namespace lockstep::core {

/// Starts one agent: PREFIX lockstep-agent serve, request on stdin, its one answer on stdout.
/// One use. States: idle → started → (ready | failed), each told once; a detached agent's process may be gone by then. An attended
/// agent's stays: ready → said… → ended.
class AgentLauncher : public QObject {
    Q_OBJECT
public:
    explicit AgentLauncher(QObject *parent = nullptr);
    ~AgentLauncher() override; ///< of an attended agent: waits a moment for its end
    /// Called only once.
    void start(const CommandPrefix &prefix, const LaunchRequest &request);

    /// What agent 0 of several nodes answered, from ready() on: for the other agents' stdin and nobody else.
    [[nodiscard]] const std::string &join() const { return m_join; }
    [[nodiscard]] const std::string &token() const { return m_token; }

    /// Of an attended agent: ends its run; ended() follows, or failed() where it was not ready yet.
    void stop();

    static constexpr int linkFailed = 255; ///< ssh's own: the agent may or may not have come up

Q_SIGNALS:
    void ready(const QString &run, const QString &socket, qint64 pid);
    /// `exitCode` as the agent said it: 2 when the request itself is refused (nothing was started).
    void failed(const lockstep::Error &error, int exitCode);
    void said(const QByteArray &line);                     ///< attended, after ready(): a line of its ranks' consoles
    void ended(int exitCode, const QString &lastSentence); ///< attended, after ready(): the run, as this agent saw it

private:
    void readAnswer();
    void readLines();
    void finish(const Error &error, int exitCode);
    QProcess m_process;
    QTimer m_limit;
    QByteArray m_answer;
    QString m_host;
    std::string m_join, m_token;
    bool m_over = false, m_attended = false, m_ready = false;
};

} // namespace lockstep::core
