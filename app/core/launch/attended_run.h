#pragma once
#include <optional>
#include <string>
#include <vector>

#include <QObject>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "launch/nodes_launcher.h"

namespace lockstep::core {

/// `lockstep-trainer MODE` on the config's devices, as start() takes it: with the interface where every node names one.
[[nodiscard]] std::vector<std::string> trainerCommand(const std::string &mode, const RunConfig &config);

/// A command on the devices of a config, on this machine or on the config's nodes, that trains nothing and leaves nothing: its
/// ranks are heard while they run, its end is told, and it ends with its owner. Started by the parts that start any run.
/// One use; ended() is told once.
class AttendedRun : public QObject {
    Q_OBJECT
public:
    explicit AttendedRun(QObject *parent = nullptr);
    /// `command` may have placeholders of the config (ipc/command_template.h); "lockstep-trainer" is the one beside the agent.
    /// `name` is for the log of the agent.
    /// `where` is where the agent of a config without nodes runs.
    void start(const RunConfig &config, std::vector<std::string> command, const std::string &name,
               const CommandPrefix &where = {});
    void stop(); ///< ended() follows, with an error
    /// After ended(): the link to a host broke before its agent had answered.
    [[nodiscard]] bool linkFailed() const { return m_linkFailed; }

Q_SIGNALS:
    void said(int rank, const QByteArray &line); ///< one line of the rank's console
    void ended(const std::optional<lockstep::Error> &error);

private:
    void take(const QByteArray &line);
    NodesLauncher m_launcher;
    bool m_ended = false, m_linkFailed = false;
};

} // namespace lockstep::core
