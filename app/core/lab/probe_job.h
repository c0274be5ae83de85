// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>

#include "base/other_load.h"
#include "ipc/error.h"
#include "ipc/run_config.h"
#include "lab/forecast.h"

namespace lockstep::core {
class AttendedRun;

/// The baseline of a config on `copies` devices side by side that do not communicate, each with its own batch. With nodes in the
/// config: on the first `copies` devices of those.
struct ProbeRequest {
    RunConfig config;
    int copies = 1;
    std::int64_t batch = 64;
};

/// The probes that forecast `devices` of such a config needs: one device at the whole batch, and that many side by side at a
/// rank's, for each number that this machine has. Short: 200 steps an epoch, three epochs.
[[nodiscard]] std::vector<ProbeRequest> probesFor(const RunConfig &config, const std::vector<int> &devices,
                                                  int devicesHere);

/// Sums up the frames of the copies (one text each, NDJSON); the first epoch is warm-up. Absent: no copy got beyond it.
[[nodiscard]] std::optional<ComputeProbe> probeFromFrames(const ProbeRequest &request,
                                                          const std::vector<std::string> &frames);

/// Bytes of each parameter in a safetensors file, in its order. Errors name the file.
[[nodiscard]] Result<std::vector<double>> parameterBytesIn(const std::string &safetensors);

/// Runs probes one after another: on this machine with lockstep-trainer, in a folder that is removed afterwards; on nodes as runs
/// that leave nothing there. One use.
class ProbeJob : public QObject {
    Q_OBJECT
public:
    explicit ProbeJob(QObject *parent = nullptr);
    ~ProbeJob() override;
    [[nodiscard]] Result<void> start(std::vector<ProbeRequest> probes);
    [[nodiscard]] const std::vector<ComputeProbe> &probes() const { return m_done; }
    [[nodiscard]] const std::vector<double> &parameterBytes() const { return m_parameterBytes; }
    /// Cores that other programs used on this machine meanwhile, on average; absent: not done yet, on nodes, or unknown.
    [[nodiscard]] std::optional<double> otherCores() const { return m_otherCores; }

Q_SIGNALS:
    void progressed(const QString &what);
    void finished();
    void failed(const lockstep::Error &error);

private:
    void next();
    void askForParameters(const RunConfig &config);
    void startOnNodes();
    void startHere();
    void over();
    void overOnNodes(const std::optional<Error> &error);
    void take(std::vector<std::string> frames);
    void end(std::optional<Error> error);
    [[nodiscard]] std::string file(const char *what, int copy) const;

    QTemporaryDir m_folder;
    std::string m_trainer;
    std::deque<ProbeRequest> m_waiting;
    std::vector<std::unique_ptr<QProcess>> m_running;
    std::vector<std::unique_ptr<AttendedRun>> m_onNodes;
    std::vector<std::string> m_said; ///< frames of each copy on nodes
    int m_alive = 0;                 ///< copies on nodes that have not ended
    std::vector<ComputeProbe> m_done;
    std::vector<double> m_parameterBytes;
    std::optional<OtherLoad> m_others;
    std::optional<double> m_otherCores;
    bool m_ended = false;
};

} // namespace lockstep::core
