#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <QFlags>
#include <QObject>
#include <QTimer>

#include "ipc/frames.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"
#include "store/loss_series.h"
#include "store/run_data.h"
#include "store/training_clock.h"

namespace lockstep::core {

/// Everything known of one run, built from its frames: the same for live, replay, compare and export.
/// Lives on one thread; take() is cheap (a few µs a frame) and changed() is told at most 30 times a second.
class RunStore : public QObject {
    Q_OBJECT
public:
    enum Change {
        Record = 0x1,   ///< config.json
        State = 0x2,    ///< states, ranks, exits, result
        Loss = 0x4,     ///< loss points
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
    /// Frames of one node in the order of its seq, nodes interleaved in any way. The wall times of a node whose clock is
    /// known to differ from node 0's are brought to that one's.
    void take(const Frame &frame);
    void setRecord(const RunRecord &record);
    void setResult(const RunResult &result);
    void setLink(LinkState link, const QString &sentence = {});
    void setGaps(const std::vector<LogGap> &gaps, std::uint64_t damagedLines);
    void countUndecodable() { ++m_undecodable; }
    /// Tells changed() now instead of within 33 ms.
    void flush();

    [[nodiscard]] QString runId() const { return m_runId; }
    [[nodiscard]] QString title() const;  ///< the record's name, else the run id
    [[nodiscard]] QString method() const; ///< baseline | dp | ddp, or what a script calls it; empty when unknown
    [[nodiscard]] const About &about() const {
        return m_about;
    } ///< what a script said of itself; empty: nothing, or ours
    [[nodiscard]] const std::optional<RunRecord> &record() const { return m_record; }
    [[nodiscard]] const std::optional<RunResult> &result() const { return m_result; }
    [[nodiscard]] LinkState link() const { return m_link; }
    [[nodiscard]] QString linkSentence() const { return m_linkSentence; }
    /// The run's own state; absent until it is heard.
    [[nodiscard]] std::optional<RunState> state() const;
    [[nodiscard]] bool over() const;             ///< final state, or the agent died
    [[nodiscard]] QString stateSentence() const; ///< "training", "done", "failed: rank 1 …", "failed: agent died"

    [[nodiscard]] const std::map<int, RankInfo> &ranks() const { return m_ranks; }
    [[nodiscard]] int worldSize() const; ///< ranks expected, 0 when unknown
    [[nodiscard]] const std::vector<MergedEpoch> &epochs() const {
        return m_epochs;
    } ///< by epoch, gapless from 1 as far as heard
    [[nodiscard]] const std::vector<RankEpoch> &rankEpochs() const { return m_rankEpochs; }
    /// All ranks' loss as one curve, by window of about 100 ms.
    [[nodiscard]] const LossSeries &loss() const { return m_loss; }
    [[nodiscard]] const LossSeries *rankLoss(int rank) const;

    /// Phases of a rank over the whole run so far: exact for finished epochs, windows for the present one.
    [[nodiscard]] PhaseTimes phases(int rank) const;
    /// The same over the last `seconds` of windows (up to 60 s are kept).
    [[nodiscard]] PhaseTimes recentPhases(int rank, double seconds) const;
    [[nodiscard]] std::int64_t recentSteps(int rank, double seconds) const; ///< steps that recentPhases() covers
    [[nodiscard]] std::int64_t phaseSteps(int rank) const;                  ///< steps that phases() covers
    /// DP: each device's own times in the parallel parts, over the windows that tell of them.
    [[nodiscard]] const std::vector<ReplicaTime> &replicas() const { return m_replicas; }
    [[nodiscard]] std::int64_t replicaSteps() const { return m_replicaSteps; } ///< that replicas() covers
    [[nodiscard]] const std::vector<CommFrame> &comm() const {
        return m_comm;
    } ///< latest of each rank's windows, last 600

    [[nodiscard]] std::vector<std::string> deviceNames() const; ///< in config order, else as heard
    /// The last hour of a device at 5 Hz, oldest first.
    [[nodiscard]] const std::deque<LaneSample> *lane(const std::string &device) const;
    [[nodiscard]] std::optional<ProcessSample> agentSample() const { return m_agentSample; }
    [[nodiscard]] const std::vector<ProcessSample> &viewerSamples() const { return m_viewers; }
    /// Processor seconds per second of all viewers on the run's machine, mean of the last ten seconds of samples. Absent:
    /// nobody watches there, or it is not known yet.
    [[nodiscard]] std::optional<double> viewersShare() const;

    [[nodiscard]] const std::deque<ConsoleLine> &console() const { return m_console; } ///< the last 20,000
    [[nodiscard]] std::uint64_t consoleDropped() const { return m_consoleDropped; } ///< lines before console().front()
    [[nodiscard]] const std::vector<AlertLine> &alerts() const { return m_alerts; }
    [[nodiscard]] const std::vector<StateChange> &stateChanges() const { return m_stateChanges; }
    [[nodiscard]] const std::vector<LogGap> &gaps() const { return m_gaps; }
    [[nodiscard]] std::uint64_t damagedLines() const { return m_damaged; }
    [[nodiscard]] std::uint64_t undecodable() const { return m_undecodable; }
    [[nodiscard]] std::uint64_t unknownFrames() const { return m_unknown; }
    [[nodiscard]] std::uint64_t frames() const { return m_frames; }
    [[nodiscard]] std::int64_t lastWallUs() const { return m_lastWallUs; } ///< newest frame; 0: none

    /// The other nodes of the run by number, as far as agent 0 has told; empty for one node.
    [[nodiscard]] const std::map<int, NodeLink> &links() const { return m_links; }
    /// One line for people: "3 nodes, all links up", "link to hostB lost, …"; empty for one node.
    [[nodiscard]] QString linksSentence() const;
    [[nodiscard]] bool linkToNodeLost() const; ///< of any node, while the run goes on
    /// Why what this device does now can't be known: nothing is heard of the run, or of its node. Empty: it is heard, or the run
    /// is over.
    [[nodiscard]] QString whyUnheard(const std::string &device) const;
    /// The same of the run as a whole, by this viewer.
    [[nodiscard]] QString whyUnheard() const;

    [[nodiscard]] Progress progress() const;
    [[nodiscard]] RunOutcome outcome() const;

Q_SIGNALS:
    void changed(lockstep::core::RunStore::Changes what);

private:
    void takeHere(const Frame &frame);
    void takeBody(const Frame &frame, const StateFrame &body);
    void takeBody(const Frame &frame, const StepsFrame &body);
    void takeBody(const Frame &frame, const EpochFrame &body);
    void takeBody(const Frame &frame, const EvalFrame &body);
    void takeBody(const Frame &frame, const DeviceFrame &body);
    void takeBody(const Frame &frame, const CommFrame &body);
    void takeBody(const Frame &frame, const LogFrame &body);
    void takeBody(const Frame &frame, const AlertFrame &body);
    void takeBody(const Frame &frame, const HeartbeatFrame &body);
    void takeBody(const Frame &frame, const ExitFrame &body);
    void takeBody(const Frame &frame, const HeaderFrame &body);
    void takeBody(const Frame &frame, const LinkFrame &body);
    void takeBody(const Frame &frame, const UnknownFrame &body);
    void takeAbout(RankInfo &info, const About &about);
    void takeViewers(std::int64_t wallUs, const DeviceFrame &body);
    RankInfo &rankInfo(int rank);
    MergedEpoch &merged(int epoch);
    void tell(Changes what);
    void appendConsole(ConsoleLine line);
    void addPhases(int rank, const Frame &frame, const StepsFrame &body);
    void addReplicas(const StepsFrame &body);
    void addLoss(int rank, const Frame &frame, const StepsFrame &body);
    [[nodiscard]] std::optional<double> secondsPerStep() const;

    struct PhaseWindow {
        std::int64_t monoNs = 0, steps = 0;
        PhaseTimes phases;
        double additiveS = 0; ///< their sum: asked for with every change of the progress
    };
    struct RankPhases {
        PhaseTimes finished, current;        ///< whole epochs; the epoch that runs
        double lossSum = 0, lossSamples = 0; ///< of the epoch that runs
        std::int64_t finishedSteps = 0, currentSteps = 0;
        int currentEpoch = 0;
        std::deque<PhaseWindow> recent;
    };

    QString m_runId;
    std::optional<RunRecord> m_record;
    std::optional<RunResult> m_result;
    LinkState m_link = LinkState::Idle;
    QString m_linkSentence;
    std::optional<RunState> m_state;
    std::string m_stateDetail;
    About m_about;
    std::optional<int> m_worldSize, m_epochsTotal;
    std::optional<std::int64_t> m_totalSteps, m_stepsPerEpoch, m_saidSteps; ///< said: by a script of itself
    std::map<int, RankInfo> m_ranks;
    std::vector<MergedEpoch> m_epochs;
    std::vector<RankEpoch> m_rankEpochs;
    LossSeries m_loss;
    LossMerger m_merger;
    std::map<int, LossSeries> m_rankLoss;
    std::map<int, RankPhases> m_phases;
    std::map<int, TrainingClock> m_clocks; ///< by rank: clocks of unlike nodes need not agree
    std::vector<ReplicaTime> m_replicas;
    std::int64_t m_replicaSteps = 0;
    std::vector<CommFrame> m_comm;
    std::vector<std::string> m_heardDevices;
    std::map<std::string, std::deque<LaneSample>> m_lanes;
    std::map<std::string, int> m_nodeOfDevice;
    std::optional<ProcessSample> m_agentSample;
    std::vector<ProcessSample> m_viewers;
    struct ViewersUse {
        std::int64_t wallUs = 0;
        double intervalS = 0, cpuS = 0;
    };
    std::deque<ViewersUse> m_viewersUse; ///< the last ten seconds'
    std::deque<ConsoleLine> m_console;
    std::uint64_t m_consoleDropped = 0;
    std::vector<AlertLine> m_alerts;
    std::vector<StateChange> m_stateChanges;
    std::map<int, NodeLink> m_links;
    std::vector<LogGap> m_gaps;
    std::uint64_t m_damaged = 0, m_undecodable = 0, m_unknown = 0, m_frames = 0;
    std::int64_t m_lastWallUs = 0;
    Changes m_told;
    QTimer m_timer;
};
Q_DECLARE_OPERATORS_FOR_FLAGS(RunStore::Changes)

/// Reads a run's folder (record, log, result) at once, for tables and exports; `onFrame` after each frame.
[[nodiscard]] Result<void> loadRun(RunStore &store, const RunFolder &folder, const std::function<void()> &onFrame = {});

} // namespace lockstep::core
