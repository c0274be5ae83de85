// SPDX-License-Identifier: MIT
#pragma once
// Values of one run as the store keeps them. Seconds, bytes, 0..1 unless said otherwise; absent is unknown.
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <QList>

#include "ipc/frames.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"
#include "ipc/scalars.h"
#include "store/run_hosts.h"

namespace lockstep::core {

/// A window of steps on a curve of the loss, or of a metric (run_metrics.h).
struct LossPoint {
    std::int64_t step = 0; ///< last step of the window, from 0 over the whole run
    double epoch = 0;      ///< epochs done at that step: 1.25 after a quarter of the second epoch's steps
    std::int64_t wallUs = 0;
    double runS = 0;                   ///< seconds of training since the run's first window, pauses left out
    double loss = 0, min = 0, max = 0; ///< sample-weighted mean, or the metric's value; may be non-finite
    std::int64_t samples = 0;          ///< the point's weight; of a metric, millionths of ScalarWindow's
};

/// One device over one epoch, from the agent.
using DeviceUse = DeviceEpochUse;

/// One epoch of one rank.
struct RankEpoch {
    int rank = 0;
    EpochFrame frame;        ///< without devices, replicas and metrics
    std::int64_t wallUs = 0; ///< when it was reported
};

/// "cpu" or "cuda", from a run's devices ("cpu:0", …); empty: none are known.
[[nodiscard]] std::string deviceKind(const std::vector<std::string> &names);
/// How many devices the run of a script used whose configuration is unknown: one per process, as in PyTorch's DDP; one process
/// that is no baseline may use all the run was given.
[[nodiscard]] int reportedDevices(std::string_view method, int processes, std::size_t given);

/// Devices of a run beyond these are not kept, nor curves of ranks: a log may name any.
inline constexpr std::size_t mostRunDevices = 4096;

/// Node and rank. Of several that report one figure of the whole run the least is believed, which no further node can change.
using Reporter = std::pair<int, int>;

/// One epoch over all ranks.
struct MergedEpoch {
    int epoch = 1;
    std::optional<double> loss;     ///< finite; of the least of its reporters
    std::optional<double> lostLoss; ///< instead of `loss` where training diverged: NaN or infinite, shown as a word
    double durationS = 0;           ///< largest over the ranks that have reported
    std::int64_t samples = 0;       ///< sum over ranks
    std::int64_t steps = 0;         ///< largest over the ranks; 0: unknown
    double beforeS = 0; ///< of durationS, before the checkpoint from which the run went on in the epoch's middle
    std::int64_t samplesBefore = 0; ///< of samples
    int ranksReported = 0;
    bool complete = false; ///< every rank has reported
    bool hasSteps = false; ///< a rank has made steps of it here
    bool part = false;     ///< the run ended in its middle, as endInPart() finds; filled in by outcomeOf() alone
    double runningS = 0;   ///< while it runs: training time of its windows so far, largest over ranks
    std::map<int, double> rankDurationS;
    std::vector<DeviceUse> devices;           ///< each device once
    std::optional<std::int64_t> readyBatches; ///< the fewest that any rank's loading workers had ready as it began
    std::optional<EvalFrame> eval;
    std::optional<Reporter> lossFrom, windowsFrom, evalFrom; ///< of `loss`, `lossSum` and `eval`
    MetricValues metrics;                                    ///< over all ranks; filled in by outcomeOf() alone
    double lossSum = 0, lossSamples = 0; ///< over the windows of ranks whose epoch has no loss: scripts
    double meanLoss = 0;                 ///< of scripts' ranks without samples: of `lossRanks` ranks' own losses
    int lossRanks = 0;
    std::int64_t endWallUs = 0;  ///< when the last of the ranks so far reported it
    std::int64_t evalWallUs = 0; ///< when `eval` was reported
};

/// Of a run's epochs, without gaps from 1, those after epoch `after` that every rank has reported: a view, which the epochs
/// must outlive. What lies before a checkpoint from which the run went on is none of its log's; lost frames leave holes.
[[nodiscard]] inline auto completeEpochs(const std::vector<MergedEpoch> &epochs, int after = 0) {
    return epochs | std::views::drop(after) | std::views::filter(&MergedEpoch::complete);
}

/// A device's sample in its lane (run_devices.h).
struct LaneSample {
    std::int64_t wallUs = 0;
    DeviceSample sample;
};

struct ConsoleLine {
    std::int64_t wallUs = 0;
    std::optional<int> rank; ///< absent: the agent
    std::string level, source, message;
};

struct AlertLine {
    std::int64_t wallUs = 0;
    std::optional<int> rank;
    AlertFrame alert;
    std::uint64_t number = 0; ///< of the run's alerts, from 1
};

struct StateChange {
    std::int64_t wallUs = 0;
    std::optional<int> rank;
    RunState state = RunState::Init;
    std::string detail;
    std::optional<int> epoch;
};

/// What is known of one rank.
struct RankInfo {
    int rank = 0;
    std::optional<RunState> state;
    std::string host, device, cores, backend, scheduling;
    std::optional<std::int64_t> pid;
    std::optional<int> threads;
    std::optional<std::int64_t> lastStep;
    std::optional<ExitFrame> exit;
    std::optional<double> cpuCores, rssBytes; ///< latest
    std::vector<std::int64_t> replicaBatch;   ///< DP
};

struct Progress {
    std::optional<std::int64_t> doneSteps, totalSteps; ///< done by every rank
    std::optional<int> epoch, epochs;                  ///< the epoch that runs now, from 1
    std::optional<double> fraction;                    ///< 0..1
    std::optional<double> leftS;                       ///< at the pace of the last 30 s of training
};

/// The state of a follower's link to its run.
enum class LinkState { Idle, Replaying, Connecting, Live, Lost, Finished, AgentDied, Failed, Unknown };
[[nodiscard]] std::string_view wordOf(RunState state);    ///< as people read it: "starting" for Init
[[nodiscard]] std::string_view toString(LinkState state); ///< a sentence: "link lost, training state unknown", …

/// What has been read of a run's log, and what is missing from it.
struct LogHealth {
    std::uint64_t frames = 0;
    std::int64_t lastWallUs = 0; ///< of the newest frame; 0: none
    LogGaps gaps;
    std::uint64_t damagedLines = 0;
    std::uint64_t undecodable = 0;      ///< good lines that are no frames
    std::uint64_t madeAgainAlone = 0;   ///< windows and epochs that count for nothing: StepNumbers::makesAgainAlone()
    std::map<int, std::string> leftOut; ///< by node: why none of its log counts, a sentence
};
/// "the log of node 0 is that of run …: none of it counts". Empty: the log of that node, which begins so, is one of this run's.
[[nodiscard]] std::string whyLeftOut(int node, const HeaderFrame &header, const std::string &run);
/// The training time that a summary gives. Unknown: it gives none, or one of less than half or more than double the sum of its own
/// epochs (a second aside).
[[nodiscard]] std::optional<double> trainingTimeIn(const Summary &summary);

/// The link from agent 0 of a run to another node's agent, as agent 0 last reported it. Says nothing of that node's ranks.
struct NodeLink {
    int node = 1;
    std::string host;
    bool up = false, ended = false;
    std::string reason;                             ///< one sentence, when lost
    std::int64_t sinceWallUs = 0;                   ///< when that was reported
    int losses = 0;                                 ///< how often it was lost so far
    std::optional<double> clockOffsetS, roundTripS; ///< its wall clock less node 0's
};
/// "link to hostB lost, its training state unknown (…)". `now`: whether the run's agent reports, as only it knows its links.
[[nodiscard]] std::string sentenceOf(const NodeLink &link, bool now = true);

/// The machine and the conditions of a run, to judge whether two can be compared; from its record, result and log.
struct RunConditions {
    QList<MachineRecord> machines; ///< shared by a run's copies, of which a comparison makes several
    std::string lockstepVersion;
    std::string program;          ///< "lockstep-trainer", or the training script's name; empty: unknown
    FileDigests files;            ///< what the ranks have read: the trainer's data, a script's own Python files
    std::optional<int> freeCores; ///< RunRecord's
    bool inTurns = false;         ///< RunRecord's
    std::string scheduling;       ///< as the ranks say: "batch", "other"; "mixed" when they differ
    std::optional<int> threads;   ///< intra-op threads a device, as rank 0 says
    std::string stageLayers;      ///< Summary's; empty: unknown, or no stages
    std::optional<Watching> watching;
    std::optional<Surroundings> surroundings;
    std::optional<Energy> energy;
};
/// The first file that both have read with different content; empty: none. One that only one has read says nothing: a script may
/// import what it needs, data may be packed or not.
[[nodiscard]] std::string editedBetween(const FileDigests &a, const FileDigests &b);

/// A summary of a run for the result table; made from a RunStore, live or replayed. What others have written takes one line, its command aside.
struct RunOutcome {
    std::string run, name, experiment, recipe;
    bool hasRecord = false; ///< its record was read: what that doesn't name, such as an experiment, it has not
    int repeat = 1;
    std::optional<RunConfig> config;
    About about; ///< what a script reported about itself
    int processes = 1;
    std::vector<std::string> deviceNames;
    std::optional<RunState> state; ///< final or current; absent: nothing reported yet
    bool agentDied = false;
    bool unknown = false;   ///< `state` is what a copy of the run's folder shows: whether it still runs is unknown
    bool missing = false;   ///< its experiment says that it is done, but its folder is not here: nothing else is known
    std::string reason;     ///< why not done, or why `unknown`
    std::string divergence; ///< "loss is NaN since step 120"; empty: every reported loss was finite
    std::string backend;    ///< as resolved by the ranks, else as configured
    std::vector<MergedEpoch> epochs;
    std::optional<std::int64_t> steps; ///< that every rank has done
    /// What the result's summary says of the work, for a log that lacks some of it.
    std::vector<EpochSummary> summedEpochs; ///< empty: no summary
    std::int64_t summedSteps = 0;           ///< 0: unknown
    std::optional<double> totalTrainingTimeS, runTimeS, testAccuracy, finalLoss;
    /// After which epoch `testAccuracy` was measured where the run made later ones; absent: at its end, or unknown.
    std::optional<int> accuracyEpoch;
    /// The first epoch that the run made itself. Later than 1: it went on from a checkpoint, whose epochs took `earlierS` of
    /// totalTrainingTimeS; phases and runTimeS know nothing of them. The one after its last epoch: it made none.
    int firstEpoch = 1;
    double earlierS = 0;
    /// It made a part of its first epoch only; `earlierS` has the time of the other part, where that of the epochs before is known.
    bool amidEpoch = false;
    std::vector<double> perClassAccuracy;
    std::vector<std::string> classNames; ///< one for each of these; empty: classes are called by their numbers
    std::map<std::string, double, std::less<>> phasesS; ///< the slowest rank's; of a pipeline the stages' mean
    /// Each rank's own, over the whole run, as far as frames reported it.
    std::map<int, std::map<std::string, double, std::less<>>> rankPhasesS;
    std::vector<BucketTime> buckets; ///< DDP's, as RunStore::buckets()
    MetricValues metrics;            ///< over all ranks and steps (ipc/metrics.h)
    std::optional<double> launchS;   ///< from launch until a rank began to train; never longer than runTimeS
    bool spansFrames = false;   ///< runTimeS is from its first frame to its last (isSpanOfFrames()), not launch to exit
    bool script = false;        ///< the ranks run a script instead of lockstep-trainer
    ScriptClaims claims;        ///< about that script
    QList<std::string> command; ///< that script's, with its placeholders filled in; copies share it
    std::string folder;         ///< in which that script was started; empty: unknown
    RunHosts hosts;             ///< of its record, then those that only its ranks name
    int nodes = 1;
    bool oversubscribed = false;
    std::int64_t startWallUs = 0;
    RunConditions conditions;
    std::vector<std::string> warnings;     ///< the result's
    int restarts = 0;                      ///< how often all ranks were started again after a failure
    std::optional<RecordedFiles> recorded; ///< RunRecord::files
    std::string begin;                     ///< RunIdentity::begin()
    bool lacksLines = false;               ///< its log here lacks lines that its agent wrote, or may

    /// The checkpoint that it went on from had all of its epochs: it measured no training.
    [[nodiscard]] bool madeNoEpoch() const;
};

} // namespace lockstep::core
