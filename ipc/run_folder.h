// SPDX-License-Identifier: MIT
#pragma once
// A run on disk: $XDG_DATA_HOME/lockstep/runs/RUN_ID/
//   config.json       RunRecord: the resolved configuration, names, and the record of each machine (agent, before any rank)
//   node-K.ndjson     the log of node K; only its agent writes it; agent 0 and viewers keep byte-identical copies elsewhere
//   join.json         while agent 0 waits for other nodes: where it listens, and the token (0600)
//   node-K.lock       locked by agent K while it lives
//   console/rank-R.log, console/agent.log
//   checkpoints/      if requested
//   summary.json      the trainer's --summary (rank 0); one from before the ranks started is removed
//   result.json       RunResult, written by rename at the end; no such file and a free lock mean "failed: agent died",
//                     on the agent's machine; in a copy of the folder, there or elsewhere, that the run's state is unknown
//   notes.json        name, tags, notes (viewers)
//   origin.json       where to follow a run that is elsewhere: in a viewer's copy, or ("shared":true) from the agent in a Slurm job, with
//                     the number of times that the job was requeued before ("restarts"); "state":"agent_died" once a viewer has seen it
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/clock.h"
#include "ipc/error.h"
#include "ipc/frames.h"
#include "ipc/run_config.h"
#include "ipc/script_claims.h"

namespace lockstep {

/// The value of an environment variable; empty if it is unset.
[[nodiscard]] std::string environmentValue(const char *name);

/// $XDG_DATA_HOME/lockstep, or ~/.local/share/lockstep. LOCKSTEP_HOME overrides both. An absolute path, without "." and
/// "..", and without a slash at its end.
[[nodiscard]] std::string dataHome();
[[nodiscard]] std::string
nodesFile(); ///< dataHome()/nodes.json: the machines that a person has added (core/nodes/node_book)
[[nodiscard]] std::string runsFolder();        ///< dataHome()/runs
[[nodiscard]] std::string experimentsFolder(); ///< dataHome()/experiments
/// A folder for sockets with mode 0700 and a short path: $XDG_RUNTIME_DIR/lockstep, else /tmp/lockstep-UID. If
/// LOCKSTEP_HOME is set, its hash is part of the name, which keeps tests apart. The folder is created if necessary, and
/// its owner checked.
[[nodiscard]] Result<std::string> socketFolder();
/// Socket of the run's agent on that node, in whichever folder it is; viewers follow node 0's. It may move while the run
/// goes on, so ask before each connection. Creates nothing: a program that binds there must hold the folder
/// (ipc/socket_folder.h).
[[nodiscard]] Result<std::string> runSocketPath(std::string_view runId, int node = 0);

/// YYYYMMDDThhmmssZ-8hex; `random` gives the 8 hex digits.
[[nodiscard]] std::string makeRunId(const Clock &clock, std::uint32_t random);
[[nodiscard]] std::string makeRunId(); ///< system clock, getrandom
[[nodiscard]] bool isRunId(std::string_view text);

inline constexpr std::uint64_t largestNotes = 64 << 10; ///< bytes of what a person notes on a run

struct RunFolder {
    std::string path; ///< …/runs/RUN_ID

    [[nodiscard]] std::string config() const { return path + "/config.json"; }
    [[nodiscard]] std::string log(int node) const { return path + "/node-" + std::to_string(node) + ".ndjson"; }
    [[nodiscard]] std::string lock(int node) const { return path + "/node-" + std::to_string(node) + ".lock"; }
    [[nodiscard]] std::string console(int rank) const {
        return path + "/console/rank-" + std::to_string(rank) + ".log";
    }
    [[nodiscard]] std::string agentConsole(int node = 0) const {
        return path + "/console/agent" + (node > 0 ? "-" + std::to_string(node) : "") + ".log";
    }
    [[nodiscard]] std::string checkpoints() const { return path + "/checkpoints"; }
    /// Holds rank-R.json from each rank, and trace.json of all ranks.
    [[nodiscard]] std::string traces() const { return path + "/traces"; }
    [[nodiscard]] std::string summary() const { return path + "/summary.json"; }
    [[nodiscard]] std::string result() const { return path + "/result.json"; }
    [[nodiscard]] std::string notes() const { return path + "/notes.json"; } ///< at most largestNotes
    [[nodiscard]] std::string join() const { return path + "/join.json"; }
    [[nodiscard]] std::string origin() const { return path + "/origin.json"; }
};
[[nodiscard]] RunFolder runFolder(std::string_view runId);
/// The nodes whose logs are in the folder, ascending.
[[nodiscard]] std::vector<int> nodesIn(const RunFolder &folder);
/// The node whose agent owns the folder: 0, or on another node's machine that node.
[[nodiscard]] int ownNode(const RunFolder &folder);

/// A GPU or CPU device in a machine's record.
struct DeviceRecord {
    std::string device, kind, name, cores, uuid;
    std::optional<double> memoryTotalBytes;
    bool operator==(const DeviceRecord &) const = default;
};

/// The record of a machine, taken by its agent. Unknown values are empty or absent.
struct MachineRecord {
    int node = 0;
    std::string host, os, kernel, cpuModel;
    std::optional<int> sockets, cores, threads;
    std::string allowedCores;
    std::optional<double> memoryTotalBytes;
    std::vector<DeviceRecord> devices;
    std::string gpuDriver, torchVersion, agentVersion;
    std::vector<std::pair<std::string, std::string>> interfaces; ///< name, address
    bool operator==(const MachineRecord &) const = default;
};

/// The files that a run's frames were read from (`lockstepctl follow`), as far as it takes to recognise them wherever they
/// lie: the same training, recorded twice, is one measurement.
struct RecordedFiles {
    std::string begin;       ///< which process made the earliest frame, and when; empty: unknown
    std::uint64_t bytes = 0; ///< size of all files once the run has all that was in them; 0: it hasn't, or goes on
    bool operator==(const RecordedFiles &) const = default;
};

/// The content of config.json.
struct RunRecord {
    std::string run;
    std::string name;       ///< "DDP on 2 devices"
    std::string experiment; ///< empty for a single run
    std::string recipe;     ///< name of the recipe; empty if there is none
    int repeat = 1;         ///< number of this repeat, from 1
    /// It took turns with the other runs of its round on the same cores: its times are without the others' turns.
    bool inTurns = false;
    /// Absent if only a command is known. For a script it is what the recipe says about it.
    std::optional<RunConfig> config;
    /// The planned configuration, if the queue moved the run to other devices to run beside others. Comparisons use
    /// this one.
    std::optional<RunConfig> planned = {};
    /// Program and arguments of `lockstep-agent run -- …` or of a recipe's script. A launch request may contain
    /// placeholders (ipc/command_template.h), which the agent fills in. Empty: lockstep-trainer with the configuration,
    /// or ranks that somebody else started.
    std::vector<std::string> command;
    /// About a script. Of ranks that somebody else started, `known` is what they say of themselves; all of it is known
    /// only of lockstep-trainer.
    ScriptClaims claims = {};
    /// The folder in which this node's agent started its ranks, which relative paths are meant in; absolute. In a launch
    /// request: where the agent is to be started, if it is on the launcher's machine. Empty: unknown, or anywhere.
    std::string folder = {};
    /// What ranks that somebody else started reported of themselves, where that makes no configuration.
    About about = {};
    int processes = 1;
    std::vector<std::string> deviceNames; ///< "cpu:0", …; one per device, in the order of the configuration
    std::vector<MachineRecord> machines;
    /// Number of cores that the agent may use and that no rank and no loading worker of the run is bound to. Absent:
    /// unknown, e.g. for ranks that may run anywhere because only GPUs were named.
    std::optional<int> freeCores;
    /// Why the nodes' line of PyTorch was chosen, one sentence; empty: unknown, or one node.
    std::string torchReason = {};
    std::string lockstepVersion;
    /// When the ranks were started: of several nodes after all had joined. Until then, and in records of earlier versions, when
    /// this node's agent was. Of ranks that somebody else started, their first frame.
    std::int64_t startWallUs = 0;
    std::optional<RecordedFiles> files = {}; ///< absent: the run's frames came from no files
};
/// The configuration that repeats have in common: `planned`, else `config`.
[[nodiscard]] inline const std::optional<RunConfig> &workOf(const RunRecord &record) {
    return record.planned ? record.planned : record.config;
}
/// Whether the ranks run a user's script instead of lockstep-trainer.
[[nodiscard]] bool isScript(const RunRecord &record);
/// Whether somebody else started the ranks, which only report: nothing but its name is known of any machine then.
[[nodiscard]] bool isStartedElsewhere(const RunRecord &record);
/// Where a script was started, if that may say which one it is: an absolute path names the same file from anywhere.
[[nodiscard]] std::string scriptFolder(const RunRecord &record);
/// The further node whose ranks alone the record is of, as in that node's own folder. Absent: the record is of the whole run.
[[nodiscard]] std::optional<int> soleFurtherNode(const RunRecord &record);
/// What one of a run's documents may hold.
struct DocumentLimits {
    std::uint64_t bytes;
    std::size_t values;
};
inline constexpr DocumentLimits recordLimits{8 << 20, 200'000};  ///< the longest command fits, as do thousands of ranks
inline constexpr DocumentLimits resultLimits{16 << 20, 600'000}; ///< 100,000 epochs fit

/// The names of devices are left out where nobody could read a document with them (recordLimits).
[[nodiscard]] std::string toJson(const RunRecord &record);
[[nodiscard]] Result<RunRecord> runRecordFromJson(std::string_view text);
/// The record in a run's folder. An error where it is another run's: a copied folder is no further measurement.
[[nodiscard]] Result<RunRecord> readRunRecord(const RunFolder &folder);
/// Why a run with that id and record is none of the experiment's: its record names another one, or none. Absent: it is the experiment's.
[[nodiscard]] std::optional<std::string> whyNoRunOf(std::string_view experiment, std::string_view run,
                                                    const RunRecord &record);
/// The same by the record in the run's folder. Fails where that can't be read, too. No experiment: any run will do.
[[nodiscard]] Result<void> expectRunOf(std::string_view experiment, const RunFolder &folder);

/// What the trainer's --summary writes; also part of result.json. For a script the agent builds it from what the script
/// reported; what was not reported is empty or absent.
struct EpochSummary {
    int epoch = 1;
    std::optional<double> loss;
    double durationS = 0; ///< largest of the ranks
    std::int64_t samples = 0;
    bool operator==(const EpochSummary &) const = default;
};
struct Summary {
    std::string method, backend, loader, model, dataset, optimizer, precision, augment;
    int worldSize = 1;
    std::vector<std::string> devices;
    std::optional<int> coresPerDevice, threads, workers, workersTotal;
    std::optional<std::uint64_t> seed;
    std::optional<std::int64_t> batchSize;
    std::int64_t steps = 0;
    std::optional<double> lr;
    std::vector<EpochSummary> epochs;
    /// The first epoch of which the run made steps itself; `epochs` and their sums are of those before it, too. The one after the last:
    /// it made none. Absent: unknown, as of scripts.
    std::optional<int> firstEpoch;
    bool amidEpoch = false;                   ///< it made only a part of its first epoch itself
    std::optional<double> totalTrainingTimeS; ///< sum of the epochs' durations
    std::optional<double> runTimeS;           ///< launch to exit
    std::optional<double> testAccuracy;       ///< 0..1
    std::vector<double> perClassAccuracy;
    std::vector<std::string> classNames; ///< of texts: their labels; empty: classes are called by their numbers
    std::map<std::string, double, std::less<>> phasesS; ///< the slowest rank's; of a pipeline the stages' mean
    std::string parametersSha256;
    std::optional<double> peakRssBytes;     ///< summed over the ranks
    std::vector<std::int64_t> replicaBatch; ///< DP: samples per replica
    std::string stageLayers; ///< pipeline: layers of each stage, given or by measured times, as RunConfig::stageLayers
    /// GPUs: how batches were copied, which is what the phase h2d timed: "pinned, non-blocking", "pageable, blocking",
    /// …; empty if a step copies nothing.
    std::string copies;
    bool cudaGraph = false; ///< steps were launched as CUDA graphs
    bool oversubscribed = false;
    MetricValues metrics; ///< over all ranks (ipc/metrics.h); may be non-finite
};
/// Whether the run is known to have made none of its epochs: the checkpoint that it went on from had them all.
[[nodiscard]] inline bool madeNoEpoch(const Summary &summary) {
    return summary.firstEpoch && !summary.epochs.empty() && *summary.firstEpoch > summary.epochs.back().epoch;
}
[[nodiscard]] std::string toJson(const Summary &summary);
[[nodiscard]] Result<Summary> summaryFromJson(std::string_view text);

/// What the monitor itself used during a run. The agent adds it up from its five samples a second; everything is
/// measured. What this cost the training is inferred in app/core/analysis/causes/watching.h.
struct Watching {
    double watchedS = 0; ///< time with at least one viewer on this machine; 0: no viewer
    /// CPU time of those viewers in that time, all threads. A viewer elsewhere counts by its bridge on this machine.
    /// The display server's CPU time is not included.
    std::optional<double> viewersCpuS;
    std::optional<double> queueCpuS; ///< of the process that owns the run's queue (`lockstepctl run`), while it follows
    std::optional<double> agentCpuS; ///< of the agent over the whole run: log, samples, serving viewers
    /// How long the ranks' threads were runnable but did not run, summed, whatever the reason: viewers, each other,
    /// other programs. It is the kernel's run-queue delay, read once a second, so the last second may be missing. Child
    /// processes of ranks are not included.
    std::optional<double> ranksWaitedS;
    /// Whose ranks ranksWaitedS is of, which is absent where one node's is unknown. All else is of the first node.
    int nodes = 1;
    bool operator==(const Watching &) const = default;
};
/// CPU time of the viewers per second of watching (0.056: 5.6 % of a core). Absent: no viewer, or unknown.
[[nodiscard]] std::optional<double> viewersShare(const Watching &watching);

/// What else happened on the machine during a run. The agent adds it up from its samples; everything is measured, and
/// what is absent is unknown. A node reports its own; agent 0 writes those of the nodes that were affected most.
struct Surroundings {
    double measuredS = 0; ///< duration that the figures below cover
    /// CPU time on the cores that the agent may use, spent by processes outside the run, i.e. not by its ranks, their
    /// children, the agent, the queue or viewers. A child that ended between two readings (one a second) counts here
    /// for that second only if nobody waited for it, so that nobody learnt from the kernel what it had used.
    std::optional<double> otherCpuS;
    std::optional<double> stolenS; ///< time of those cores that a hypervisor gave to others
    /// How long the most affected clock was throttled. GPUs: while NVML reported a reason; the largest of all GPUs.
    /// CPUs: while the cgroup's quota was used up.
    std::optional<double> throttledS;
    std::vector<std::string> throttle; ///< each reason once: "software power cap", "CPU quota", "processor too hot"
    int nodes = 1;                     ///< of whose reports these are the largest
    int nodesUnknown = 0;              ///< nodes of the run that reported none
    /// Of several nodes: the one whose cores these are, loaded most beyond those that had no rank, and the one that was
    /// held down longest, if any was.
    std::string loadedNode = {}, heldNode = {};
    std::optional<int> freeCores = {}; ///< RunRecord's, of loadedNode
    bool operator==(const Surroundings &) const = default;
};

/// Energy that was used on the run's machines while it was sampled, launch to exit. What is absent is unknown, and
/// a sentence says why. A node reports its own; agent 0 writes the sum over all nodes.
struct Energy {
    int nodes = 1;               ///< whose energy this is
    std::optional<double> gpusJ; ///< of the run's GPUs
    double gpusS = 0; ///< time that gpusJ covers; of several nodes, such that gpusJ ÷ gpusS is their power together
    std::string gpusFrom;    ///< "NVML's energy counter" or "power × time"
    std::string gpusUnknown; ///< why gpusJ is absent
    /// Of the machines' processor packages (RAPL): everything that ran on them, not the run alone. Without memory.
    std::optional<double> packagesJ;
    double packagesS = 0;        ///< time that packagesJ covers, as gpusS
    std::string packagesUnknown; ///< why packagesJ is absent
    std::string packagesOf;      ///< whose counters: nodes on one machine read the same ones
    bool operator==(const Energy &) const = default;
};

/// Bytes that are kept of a name that somebody else reports: of a host, a device, a signal.
inline constexpr std::size_t longestReportedName = 200;
/// Reasons of Surroundings::throttle that are kept: NVML, the kernel and a quota know about a dozen.
inline constexpr std::size_t mostThrottleReasons = 32;

struct RankExit {
    int rank = 0;
    std::string host;
    std::optional<int> code, signal;
    std::string signalName;
};
/// The pauses of a run that took turns with others on the same cores, on this machine.
struct TurnsTaken {
    double pausedS = 0;      ///< in all
    std::int64_t pauses = 0; ///< while it trained
    /// Of these, those that began when nothing of it computed: it waited for something outside (a disk, a network, a timer), which goes
    /// on in a pause.
    std::int64_t waiting = 0;
    /// A rank has reported durations without having said that it leaves pauses out of them, or could not be notified of a pause.
    bool counted = false;
    /// The file that says whose turn it is was removed meanwhile: others may have run at the same time.
    bool lost = false;
};
/// The content of result.json.
struct RunResult {
    std::string run;
    RunState state = RunState::Failed; ///< done, failed, stopped
    int exitCode = 1;                  ///< 0, 1, 2, 130
    std::string reason;                ///< one sentence if not done
    std::int64_t startWallUs = 0, endWallUs = 0;
    /// Launch to exit, monotonic: from when the ranks were started until the last one ended, on whichever node. Further nodes' own
    /// results, and agent 0's of earlier versions, are of that node's ranks alone. Without the pauses of a run that took turns.
    /// Where isSpanOfFrames(), from the ranks' first frame to their last.
    double runTimeS = 0;
    std::vector<RankExit> ranks;
    std::optional<Summary> summary;
    std::optional<Watching> watching;         ///< absent: an older run, or no sample was taken
    std::optional<Surroundings> surroundings; ///< absent: an older run, or no sample was taken
    std::optional<Energy> energy;             ///< absent: an older run, or one that took turns
    std::optional<TurnsTaken> turns;          ///< absent: it took none
    std::uint64_t logLines = 0;               ///< seq of the last line + 1, so that a reader knows when it has all
    /// The same for the other nodes' logs as far as agent 0 has them; empty for one node.
    std::map<int, std::uint64_t> nodeLogLines;
    /// What a reader of the run must know although it may have ended well: "… can't be synced: …". A sentence each.
    std::vector<std::string> warnings;
};
/// Whether it is of ranks that somebody else started: how they ended is known of none.
[[nodiscard]] bool isSpanOfFrames(const RunResult &result);
/// The epochs, then the hosts, are left out, and a warning says so, where nobody could read a document with them (resultLimits): the log has them.
[[nodiscard]] std::string toJson(const RunResult &result);
[[nodiscard]] Result<RunResult> runResultFromJson(std::string_view text);
/// From result.json. One that names another run is an error.
[[nodiscard]] Result<RunResult> readRunResult(const RunFolder &folder);
/// Whether a result may be this run's: it names it, or none.
[[nodiscard]] bool mayBeOf(std::string_view run, const RunResult &result);

/// The state that any reader derives from the files alone: result.json, and whether the agent of the lowest node here
/// is alive. Of a run elsewhere (origin.json) it is Running while its log has lines of the last two minutes. Unknown: there is no result, and
/// the agent is on another machine, from which its lock is not seen here, or the folder is a copy; or there is a result that can't be
/// read, or is another run's.
struct RunStatus {
    enum class Kind { Starting, Running, Finished, AgentDied, Unknown };
    Kind kind = Kind::Starting;
    std::optional<RunResult> result;
    std::string sentence; ///< "done", "failed: agent died", …
};
[[nodiscard]] RunStatus readRunStatus(const RunFolder &folder);
inline constexpr const char *agentDiedState = "agent_died"; ///< AgentDied in origin.json and to `lockstep-agent status`

/// What `lockstep-agent serve` reads on stdin, as one JSON line. It answers one line on stdout:
///   {"type":"ready","run":"…","socket":"…","pid":123}   or   {"type":"error","message":"…","exit_code":2}
/// With several nodes, ask agent 0 first. Its answer, given once its listener is bound, also has
///   "join":"HOST:PORT","token":"…"
/// Pass both to every other agent (node > 0) in its request, on stdin only. That agent answers ready once agent 0 has
/// accepted it, or why it could not join (exit code 1 or 2). The ranks start when all nodes have joined. The launcher
/// may leave after the answers. If it leaves before, agent 0 gives up after the time limit.
struct LaunchRequest {
    RunRecord record; ///< run id and start may be empty: then the agent fills them in
    bool detach = true;
    /// The agent ends with its launcher and keeps nothing. It runs in the foreground, prints the ranks' output after
    /// the answer ("[rank 0] …"), stops when stdin ends, and removes its folder at the end. For runs that train
    /// nothing.
    bool attended = false;
    int node = 0;            ///< index of the agent's node in record.config->nodes
    std::string join, token; ///< node > 0: from agent 0's answer
    int joinPort = 0;        ///< node 0: where to listen; 0: any free port
    double joinLimitS = 60;  ///< node 0: how long to wait for the others; node > 0: how long to try to join
    double leaseS = 600;     ///< node > 0: how long its ranks go on without agent 0
};
[[nodiscard]] std::string toJson(const LaunchRequest &request);
[[nodiscard]] Result<LaunchRequest> launchRequestFromJson(std::string_view text);

} // namespace lockstep
