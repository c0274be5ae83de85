// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// A config on `copies` devices side by side that do not communicate, each with its own batch. With nodes in the config: on the first
/// `copies` devices of those.
struct ProbeRequest {
    /// Without settings that mean nothing for its rows, but would for the method that it trains as.
    RunConfig config;
    int copies = 1;
    std::int64_t batch = 64;
    bool ofStages = false; ///< these are a pipeline's stages, so what each layer takes at that batch counts, too
    /// Each trains as DDP of one rank, not as the baseline: what it takes to hand gradients over counts, and it reports when its buckets fill.
    bool handsOver = false;
};

/// The probes that such a forecast needs: one device at the whole batch, and for each of its rows as many as compute at the same time
/// at what each of them takes at once, if there are so many devices here. Short: three epochs of samplesOf() each.
[[nodiscard]] std::vector<ProbeRequest> probesFor(const ForecastInput &input);

/// Sums up the frames of the copies (one text each, NDJSON); the first epoch is warm-up. Absent: no copy got beyond it.
[[nodiscard]] std::optional<ComputeProbe> probeFromFrames(const ProbeRequest &request,
                                                          const std::vector<std::string> &frames);

/// What `lockstep-trainer --model-costs` said of a model.
struct ModelCosts {
    std::int64_t trainSamples = 0;      ///< of an epoch, as many as the data hold
    std::vector<double> parameterBytes; ///< in DDP's order
    std::vector<double> bufferBytes;    ///< of each message in which ranks share the model's buffers
    std::vector<LayerCost> layers;
};
/// Absent: it is no such answer.
[[nodiscard]] std::optional<ModelCosts> modelCostsFrom(std::string_view json);

/// Samples in an epoch of each copy: of 200 steps, or of fewer where these would take longer than some seconds; at most its share of a run's
/// epoch: of few steps, the last one is then as small as the run's.
[[nodiscard]] std::int64_t samplesOf(const ProbeRequest &probe, const ModelCosts &costs);

/// Runs probes one after another: on this machine with lockstep-trainer, in a folder that is removed afterwards; on nodes as runs
/// that leave nothing there. One use.
class ProbeJob : public QObject {
    Q_OBJECT
public:
    explicit ProbeJob(QObject *parent = nullptr);
    ~ProbeJob() override;
    [[nodiscard]] Result<void> start(std::vector<ProbeRequest> probes);
    [[nodiscard]] const std::vector<ComputeProbe> &probes() const { return m_done; }
    [[nodiscard]] const ModelCosts &costs() const { return m_costs; }
    /// Cores that other programs used on this machine meanwhile, on average; absent: not done yet, on nodes, or unknown.
    [[nodiscard]] std::optional<double> otherCores() const { return m_otherCores; }

Q_SIGNALS:
    void progressed(const QString &what);
    void finished();
    void failed(const lockstep::Error &error);

private:
    void next();
    void askForCosts();
    void askForCostsOnNode(const RunConfig &config, const std::string &flag);
    void takeCosts(std::string_view json);
    void startOnNodes();
    void watchStart(QProcess &process);
    void startHere();
    void over();
    void onLine(std::size_t copy, const QByteArray &line);
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
    ModelCosts m_costs;
    std::optional<OtherLoad> m_others;
    std::optional<double> m_otherCores;
    bool m_ended = false;
    bool m_flooded = false; ///< a node said more than a probe has to say: the rest is ignored
};

} // namespace lockstep::core
