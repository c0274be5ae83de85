// SPDX-License-Identifier: MIT
#pragma once
#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "base/command_prefix.h"
#include "ipc/error.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

/// Starts one agent: PREFIX lockstep-agent serve, request on stdin, its one answer on stdout. One use. States: idle →
/// started → (ready | failed), each signalled once; a detached agent's process may have ended by then. An attended
/// agent's process stays: ready → said… → ended.
class AgentLauncher : public QObject {
    Q_OBJECT
public:
    explicit AgentLauncher(QObject *parent = nullptr);
    ~AgentLauncher() override; ///< waits briefly for an attended agent to end
    /// Called only once. An agent on this machine is started in the record's folder, if that is given.
    void start(const CommandPrefix &prefix, const LaunchRequest &request);

    /// Agent 0's answer in a run of several nodes, valid from ready() on. Holds the token: only for the other agents'
    /// stdin.
    [[nodiscard]] const std::string &join() const { return m_join; }
    [[nodiscard]] const std::string &token() const { return m_token; }

    /// Ends an attended agent's run; ended() follows, or failed() if it was not ready yet.
    void stop();

    static constexpr int linkFailed = 255; ///< ssh's exit code: the agent may or may not have started

Q_SIGNALS:
    void ready(const QString &run, const QString &socket, qint64 pid);
    /// `exitCode` is the agent's: 2 if it refused the request (nothing was started).
    void failed(const lockstep::Error &error, int exitCode);
    void said(const QByteArray &line);                     ///< attended, after ready(): a line of a rank's console
    void ended(int exitCode, const QString &lastSentence); ///< attended, after ready(): the run has ended on this node

private:
    [[nodiscard]] Result<void> startIn(const std::string &folder);
    void readAnswer();
    void readLines();
    void finish(const Error &error, int exitCode);
    QProcess m_process;
    QTimer m_limit;
    QByteArray m_answer;
    QString m_host;
    std::string m_asked, m_join, m_token;
    bool m_over = false, m_attended = false, m_ready = false;
};

} // namespace lockstep::core
