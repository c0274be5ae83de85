// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "launch/nodes_launcher.h"

namespace lockstep::core {

/// `lockstep-trainer MODE` on the config's devices, for start(). Includes the interface if every node names one.
[[nodiscard]] std::vector<std::string> trainerCommand(const std::string &mode, const RunConfig &config);

/// Runs a command on a config's devices, here or on its nodes, that trains nothing and leaves no run behind. Its
/// ranks' console lines arrive as they run, and it ends with its owner. Started by the same parts as any run.
/// One use; ended() is emitted once.
class AttendedRun : public QObject {
    Q_OBJECT
public:
    explicit AttendedRun(QObject *parent = nullptr);
    /// `command` may have placeholders of the config (ipc/command_template.h); "lockstep-trainer" is the one next to
    /// the agent. `name` appears in the agent's log. `where`: the machine of a config without nodes.
    void start(const RunConfig &config, std::vector<std::string> command, const std::string &name,
               const CommandPrefix &where = {});
    void stop(); ///< ended() follows, with an error
    [[nodiscard]] bool hasEnded() const { return m_ended; }
    /// After ended(): whether the link to a host broke before its agent answered.
    [[nodiscard]] bool linkFailed() const { return m_linkFailed; }

Q_SIGNALS:
    void said(int rank, const QByteArray &line); ///< one line of the rank's console
    void ended(const std::optional<lockstep::Error> &error);

private:
    void take(const QByteArray &line);
    NodesLauncher m_launcher;
    bool m_ended = false, m_linkFailed = false;
};

/// Stops a run that nobody waits for any more; it is gone once it has ended. Never blocks. Null is allowed.
void endWithoutWaiting(std::unique_ptr<AttendedRun> run);

} // namespace lockstep::core
