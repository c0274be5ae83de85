#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QProcess>

#include "launch/command_prefix.h"

namespace lockstep::core {

/// A device as it stands now, before a run is put on it (`lockstep-agent devices`).
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
    std::vector<User> users;                                 ///< programs that use it, the largest first
};

/// Asks the agent, here or elsewhere, how the devices stand. Never blocks; start() again looks anew.
class DeviceLook : public QObject {
    Q_OBJECT
public:
    explicit DeviceLook(QObject *parent = nullptr);
    ~DeviceLook() override;
    void start(const CommandPrefix &prefix, int coresPerDevice);
    /// More variables for what is started, ssh's askpass among them: with any, ssh may ask. For start() from now on.
    void setEnvironment(std::map<std::string, std::string> variables) { m_environment = std::move(variables); }
    [[nodiscard]] bool isLooking() const { return m_process.state() != QProcess::NotRunning; }

Q_SIGNALS:
    void looked(const std::vector<lockstep::core::SeenDevice> &devices);
    void failed(const lockstep::Error &error);

private:
    void over();
    QProcess m_process;
    std::map<std::string, std::string> m_environment;
};

[[nodiscard]] Result<std::vector<SeenDevice>> seenDevicesFromJson(std::string_view text);

} // namespace lockstep::core
