// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <QFlags>
#include <QObject>
#include <QTimer>

#include "store/node_links.h"
#include "store/run_data.h"
#include "store/run_devices.h"
#include "store/run_epochs.h"
#include "store/run_identity.h"
#include "store/run_length.h"
#include "store/run_lifecycle.h"
#include "store/run_losses.h"
#include "store/run_messages.h"
#include "store/run_metrics.h"
#include "store/run_phases.h"
#include "store/run_ranks.h"
#include "store/run_stages.h"
#include "store/run_updates.h"
#include "store/step_numbers.h"

namespace lockstep::core {

/// Everything known of one run, built from its frames: the same for live, replay, compare and export. It passes each frame to
/// the parts that use it and reports what changed; readers use the part they need. Functions over several parts
/// are separate: progressOf(), outcomeOf(), whyNoRecentData(). Lives on one thread; take() is cheap (a few µs a frame) and
/// changed() is emitted at most 30 times a second.
class RunStore : public QObject {
    Q_OBJECT
public:
    enum Change {
        Record = 0x1,   ///< config.json
        State = 0x2,    ///< states, ranks, exits, result
        Loss = 0x4,     ///< loss points and metrics
        Epochs = 0x8,   ///< epochs and evals
        Devices = 0x10, ///< samples
        Phases = 0x20,
        Console = 0x40,
        Alerts = 0x80,
        Gaps = 0x100,
        Link = 0x200,
        ProgressChange = 0x400,
        All = 0x7ff
    };
    Q_DECLARE_FLAGS(Changes, Change)

    explicit RunStore(QString runId = {}, QObject *parent = nullptr);

    // Fed by a follower.
    /// Frames of one node in the order of its seq, nodes interleaved in any way. Wall times of a node whose clock is known to
    /// differ from node 0's are converted to node 0's.
    void take(const Frame &frame);
    void setRecord(const RunRecord &record);
    void setResult(const RunResult &result);
    void setLink(LinkState link, const QString &sentence = {});
    void setGaps(const LogGaps &gaps, std::uint64_t damagedLines);
    /// A valid line of the log that is not a frame, and why. The first one raises an alert.
    void refuse(const Error &why);
    /// Emits changed() now instead of within 33 ms.
    void flush();

    // Used by most readers.
    [[nodiscard]] QString runId() const { return m_identity.runId(); }
    [[nodiscard]] const std::optional<RunRecord> &record() const { return m_identity.record(); }
    [[nodiscard]] const std::optional<RunResult> &result() const { return m_lifecycle.result(); }
    [[nodiscard]] std::optional<RunState> state() const { return m_lifecycle.state(); }
    [[nodiscard]] bool over() const { return m_lifecycle.over(); }

    // The parts.
    [[nodiscard]] const RunIdentity &identity() const { return m_identity; }
    [[nodiscard]] const RunLifecycle &lifecycle() const { return m_lifecycle; }
    [[nodiscard]] const RunLength &length() const { return m_length; }
    [[nodiscard]] const RunRanks &ranks() const { return m_ranks; }
    [[nodiscard]] const RunEpochs &epochs() const { return m_epochs; }
    [[nodiscard]] const RunLosses &losses() const { return m_losses; }
    [[nodiscard]] const RunMetrics &metrics() const { return m_metrics; } ///< announced by changed(Loss)
    [[nodiscard]] const RunPhases &phases() const { return m_phases; }
    [[nodiscard]] const RunUpdates &updates() const { return m_updates; } ///< announced by changed(Phases)
    [[nodiscard]] const RunStages &stages() const { return m_stages; }    ///< announced by changed(Phases)
    /// DDP's, as the lowest rank that reported any did last; not announced.
    [[nodiscard]] const std::vector<BucketTime> &buckets() const { return m_buckets; }
    [[nodiscard]] const RunDevices &devices() const { return m_devices; }
    [[nodiscard]] const RunMessages &messages() const { return m_messages; }
    [[nodiscard]] const NodeLinks &links() const { return m_links; }
    [[nodiscard]] const LogHealth &log() const { return m_log; }

Q_SIGNALS:
    void changed(lockstep::core::RunStore::Changes what);

private:
    void takeHere(const Frame &frame);
    void takeBody(const Frame &frame, const StateFrame &body);
    void takeBody(const Frame &frame, const StepsFrame &body);
    void takeBody(const Frame &frame, const EpochFrame &body);
    void takeBody(const Frame &frame, const EvalFrame &body);
    void takeBody(const Frame &frame, const DeviceFrame &body);
    void takeBody(const Frame &frame, const LogFrame &body);
    void takeBody(const Frame &frame, const AlertFrame &body);
    void takeBody(const Frame &frame, const ExitFrame &body);
    void takeBody(const Frame &frame, const HeaderFrame &body);
    void takeBody(const Frame &frame, const LinkFrame &body);
    void takeBody(const Frame &frame, const CommFrame &body);
    // These are not stored.
    void takeBody(const Frame &, const HeartbeatFrame &) {}
    void takeBody(const Frame &, const UnknownFrame &) {}
    void note(Changes what);
    void setRanks(int count);
    void joinRanks();
    void placeLastEpoch();
    [[nodiscard]] EpochPlaces placesOf(int epoch) const;
    void takeSteps(const Frame &frame, const StepsFrame &body);
    void forget(const std::vector<RankEpoch> &lost);

    RunIdentity m_identity;
    RunLifecycle m_lifecycle;
    StepNumbers m_numbers;
    RunLength m_length;
    RunRanks m_ranks;
    RunEpochs m_epochs;
    RunLosses m_losses;
    RunMetrics m_metrics;
    RunPhases m_phases;
    RunUpdates m_updates;
    RunStages m_stages;
    std::vector<BucketTime> m_buckets;
    int m_bucketsRank = 0; ///< whose these are
    RunDevices m_devices;
    RunMessages m_messages;
    NodeLinks m_links;
    LogHealth m_log;
    Changes m_pending;
    QTimer m_timer;
};
Q_DECLARE_OPERATORS_FOR_FLAGS(RunStore::Changes)

} // namespace lockstep::core
