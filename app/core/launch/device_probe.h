// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QProcess>
#include <QTimer>

#include "base/command_prefix.h"

namespace lockstep::core {

/// Snapshot of a device before a run is placed on it (`lockstep-agent devices`).
struct SeenDevice {
    struct User {
        int pid = 0;
        std::string name;
        std::optional<double> share, memoryBytes;
    };
    std::string device, kind, name;                          ///< "cpu:0", "cpu", "AMD EPYC"; a GPU's device is its UUID
    std::string cores;                                       ///< "0-3"; empty for GPUs
    std::optional<double> busy;                              ///< 0..1
    std::optional<double> memoryTotalBytes, memoryUsedBytes; ///< GPUs
    std::vector<User> users;                                 ///< programs that use it, largest first
};

/// Asks an agent, here or on another machine, for its devices. Never blocks; start() again takes a new snapshot. One that has not
/// answered within `limit`, ten times as long where ssh may ask, or answers without end, has failed.
class DeviceProbe : public QObject {
    Q_OBJECT
public:
    explicit DeviceProbe(QObject *parent = nullptr, std::chrono::milliseconds limit = std::chrono::minutes(1));
    ~DeviceProbe() override;
    void start(const CommandPrefix &prefix, int coresPerDevice);
    /// Further environment variables for later start() calls, e.g. SSH_ASKPASS. If there are any, ssh may ask.
    void setEnvironment(std::map<std::string, std::string> variables) { m_environment = std::move(variables); }
    [[nodiscard]] bool isRunning() const { return m_process->state() != QProcess::NotRunning; }

Q_SIGNALS:
    void finished(const std::vector<lockstep::core::SeenDevice> &devices);
    void failed(const lockstep::Error &error);

private:
    void renewProcess();
    void over();
    std::unique_ptr<QProcess> m_process; ///< never null
    std::chrono::milliseconds m_patience;
    QTimer m_limit;
    bool m_late = false; ///< it was ended after its limit
    std::map<std::string, std::string> m_environment;
};

/// A program may give its process any name, control characters included: names become printableName()s.
[[nodiscard]] Result<std::vector<SeenDevice>> seenDevicesFromJson(std::string_view text);

} // namespace lockstep::core
