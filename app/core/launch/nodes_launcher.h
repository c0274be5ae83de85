// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include <QObject>
#include <QProcess>

#include "base/command_prefix.h"
#include "ipc/error.h"
#include "ipc/run_folder.h"
#include "launch/agent_launcher.h"

namespace lockstep::core {

/// The prefix for a node's agent: `where` for this machine, ssh for a named one.
[[nodiscard]] Result<CommandPrefix> prefixOfNode(const NodePlace &node, const CommandPrefix &where);
/// The prefix for the run's agent 0, which viewers follow and send requests to.
[[nodiscard]] Result<CommandPrefix> prefixOfAgent0(const RunConfig &config, const CommandPrefix &where);

/// Starts the agents of a run: agent 0, then with its answer (address and token, on stdin) all others at once.
/// The launcher may go away after ready(). If an agent can't start, agent 0 is stopped, which ends the others, and a
/// local run folder is removed: nothing is left. One use. States: idle → first → others → (ready | failed), each once;
/// for an attended request then said… → ended.
class NodesLauncher : public QObject {
    Q_OBJECT
public:
    explicit NodesLauncher(QObject *parent = nullptr);
    /// Call it once. A request without nodes starts its one agent at `where`.
    void start(const CommandPrefix &where, const LaunchRequest &request);
    /// Ends an attended request's run on every node; ended() or failed() follows.
    void stop();

    /// failed()'s exit code if another node than agent 0's can't be reached: nothing is left running.
    static constexpr int nodeUnreachable = 254;
    /// The host that could not be reached, after failed() with nodeUnreachable or AgentLauncher::linkFailed.
    [[nodiscard]] const std::string &unreached() const { return m_unreached; }

Q_SIGNALS:
    void ready(const QString &run, const QString &socket, qint64 pid); ///< agent 0's; all nodes have joined
    /// As AgentLauncher's, or nodeUnreachable. linkFailed only for agent 0, which may or may not have started. The sentence
    /// names any other node.
    void failed(const lockstep::Error &error, int exitCode);
    /// Attended: a line of a rank's console on any node, "[rank 1] …"; then the end of all agents, with agent 0's
    /// sentence.
    void said(const QByteArray &line);
    void ended(int exitCode, const QString &lastSentence);

private:
    void startOthers(const QString &run, const QString &socket, qint64 pid);
    void otherFailed(int node, const Error &error, int exitCode);
    void stopAgent0(const Error &error, int exitCode);
    void attend(AgentLauncher &agent, int node);

    CommandPrefix m_where, m_firstPrefix;
    LaunchRequest m_request;
    std::unique_ptr<AgentLauncher> m_first;
    std::vector<std::unique_ptr<AgentLauncher>> m_others;
    std::unique_ptr<QProcess> m_stop;
    std::string m_run, m_unreached;
    int m_waiting = 0, m_alive = 0, m_exitCode = 0;
    QString m_lastSentence;
    bool m_over = false;
};

} // namespace lockstep::core
