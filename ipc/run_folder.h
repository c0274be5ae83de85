// SPDX-License-Identifier: MIT
#pragma once
// A run on disk: $XDG_DATA_HOME/lockstep/runs/RUN_ID/
//   config.json       RunRecord: the config as resolved, names, and the record of each machine (agent, before any rank)
//   node-K.ndjson     the log of node K (only its agent writes it; agent 0 and viewers keep byte-identical copies elsewhere)
//   join.json         while agent 0 of several nodes waits for them: where it listens, and the token (0600)
//   node-K.lock       held by agent K while it lives
//   console/rank-R.log, console/agent.log
//   checkpoints/      when asked for
//   summary.json      the trainer's --summary (rank 0)
//   result.json       RunResult, written by rename at the end; no such file and a free lock = "failed: agent died"
//   notes.json        name, tags, notes (viewers)
//   origin.json       where to follow a run elsewhere: in a viewer's copy; of a Slurm job, by its agent ("shared":true)
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

namespace lockstep {

/// An environment variable's value; empty when it is unset.
[[nodiscard]] std::string environmentValue(const char *name);

/// $XDG_DATA_HOME/lockstep, or ~/.local/share/lockstep. LOCKSTEP_HOME replaces it whole (tests).
[[nodiscard]] std::string dataHome();
[[nodiscard]] std::string
nodesFile(); ///< dataHome()/nodes.json: the machines that a person added (core/nodes/node_book)
[[nodiscard]] std::string runsFolder();        ///< dataHome()/runs
[[nodiscard]] std::string experimentsFolder(); ///< dataHome()/experiments
/// A folder for sockets, 0700, short path: $XDG_RUNTIME_DIR/lockstep, else /tmp/lockstep-UID. LOCKSTEP_HOME is hashed
/// into the name so that tests keep apart. Created and its owner checked.
[[nodiscard]] Result<std::string> socketFolder();
/// Of the agent of that node; viewers follow node 0's. Makes nothing: who binds there holds the folder (ipc/socket_folder.h).
[[nodiscard]] Result<std::string> runSocketPath(std::string_view runId, int node = 0);

/// YYYYMMDDThhmmssZ-8hex; `random` gives the 8 hex digits.
[[nodiscard]] std::string makeRunId(const Clock &clock, std::uint32_t random);
[[nodiscard]] std::string makeRunId(); ///< system clock, getrandom
[[nodiscard]] bool isRunId(std::string_view text);

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
    /// rank-R.json as each rank records them, trace.json of all.
    [[nodiscard]] std::string traces() const { return path + "/traces"; }
    [[nodiscard]] std::string summary() const { return path + "/summary.json"; }
    [[nodiscard]] std::string result() const { return path + "/result.json"; }
    [[nodiscard]] std::string notes() const { return path + "/notes.json"; }
    [[nodiscard]] std::string join() const { return path + "/join.json"; }
    [[nodiscard]] std::string origin() const { return path + "/origin.json"; }
};
[[nodiscard]] RunFolder runFolder(std::string_view runId);
/// The nodes whose logs lie in the folder, ascending.
[[nodiscard]] std::vector<int> nodesIn(const RunFolder &folder);
/// The node whose agent the folder is of: 0, or on the machine of another node that one's.
[[nodiscard]] int ownNode(const RunFolder &folder);

/// One GPU or CPU device as a machine record has it.
struct DeviceRecord {
    std::string device, kind, name, cores, uuid;
    std::optional<double> memoryTotalBytes;
    bool operator==(const DeviceRecord &) const = default;
};

/// The record of a machine, taken by its agent. Unknown is empty or absent.
struct MachineRecord {
    int node = 0;
    std::string host, os, kernel, cpuModel;
    std::optional<int> sockets, cores, threads;
    std::string allowedCores;
    std::optional<double> memoryTotalBytes;
    std::vector<DeviceRecord> devices;
    std::string gpuDriver, torchVersion, agentVersion;
    std::vector<std::pair<std::string, std::string>> interfaces; ///< name, address
    std::map<std::string, std::string> datasetSha256;            ///< file name → hex
    bool operator==(const MachineRecord &) const = default;
};

/// config.json
struct RunRecord {
    std::string run;
    std::string name;       ///< "DDP ×2"
    std::string experiment; ///< experiment id; empty for a single run
    std::string recipe;     ///< recipe name; empty for a free choice
    int repeat = 1;         ///< which repeat of how many in the experiment
    /// Absent when all that is known is the command. With a script's command it is what the recipe claims of it.
    std::optional<RunConfig> config;
    /// What it was planned as, where the queue moved it to other devices to go beside other runs. Comparisons are of this.
    std::optional<RunConfig> planned = {};
    /// Program and arguments of `lockstep-agent run -- …` and of a recipe's script; a launch request may have
    /// placeholders (ipc/command_template.h), which the agent fills in. Empty: lockstep-trainer by its config.
    std::vector<std::string> command;
    int processes = 1;
    std::vector<std::string> deviceNames; ///< "cpu:0", …, one a device in config order
    std::vector<MachineRecord> machines;
    /// Of the cores that the agent may use, how many no rank and no loading worker of the run is bound to. Absent: unknown,
    /// e.g. ranks that may run anywhere because only GPUs were named.
    std::optional<int> freeCores;
    /// Why the nodes' line of PyTorch was chosen, one sentence, as the sync that chose it said; empty: unknown, or one node.
    std::string torchReason = {};
    std::string lockstepVersion;
    std::int64_t startWallUs = 0;
};
/// The config that repeats have in common: `planned`, else `config`.
[[nodiscard]] inline const std::optional<RunConfig> &workOf(const RunRecord &record) {
    return record.planned ? record.planned : record.config;
}
/// Whether the ranks run somebody's script and not lockstep-trainer.
[[nodiscard]] bool isScript(const RunRecord &record);
[[nodiscard]] std::string toJson(const RunRecord &record);
[[nodiscard]] Result<RunRecord> runRecordFromJson(std::string_view text);

/// What the trainer's --summary writes; also inside result.json. For a script the agent builds it from what the script
/// reported; what the script did not report is empty or absent.
struct EpochSummary {
    int epoch = 1;
    std::optional<double> loss;
    double durationS = 0; ///< largest over ranks
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
    std::optional<double> totalTrainingTimeS; ///< sum of epoch durations
    std::optional<double> runTimeS;           ///< launch to exit
    std::optional<double> testAccuracy;       ///< 0..1
    std::vector<double> perClassAccuracy;
    std::map<std::string, double, std::less<>> phasesS; ///< the slowest rank's
    std::string parametersSha256;
    std::optional<double> peakRssBytes;     ///< summed over ranks
    std::vector<std::int64_t> replicaBatch; ///< DP: samples a replica
    /// GPUs: how batches came to them, which phase h2d timed: "pinned, non-blocking", "pageable, blocking" …; empty where
    /// nothing is copied a step.
    std::string copies;
    bool cudaGraph = false; ///< steps were launched as CUDA graphs
    bool oversubscribed = false;
    MetricValues metrics; ///< over all ranks (ipc/metrics.h); may be non-finite
};
[[nodiscard]] std::string toJson(const Summary &summary);
[[nodiscard]] Result<Summary> summaryFromJson(std::string_view text);

/// What the monitor took of the machine while the run went on, added up by the agent from its samples (5 a second); all of
/// it measured. What it cost the training is not in here: app/core/analysis/causes/watching.h infers.
struct Watching {
    double watchedS = 0; ///< in which at least one viewer on this machine followed; 0: nobody did
    /// Processor time of those viewers in that time, all their threads. A viewer elsewhere counts by its bridge here; the
    /// display server is somebody else's process and does not.
    std::optional<double> viewersCpuS;
    std::optional<double>
        queueCpuS; ///< of the process that keeps the run's queue (`lockstepctl run`), while it follows
    std::optional<double> agentCpuS; ///< of the agent over the whole run: log, samples, serving viewers
    /// For how long the ranks' threads were runnable and did not run, summed, through whomever: viewers, each other, anybody
    /// else (the kernel's run-queue delay, read once a second, so a last second may lack; children of ranks left out).
    std::optional<double> ranksWaitedS;
    bool operator==(const Watching &) const = default;
};
/// Processor time of the viewers per second of watching (0.056: 5.6 % of a core). Absent: nobody watched, or unknown.
[[nodiscard]] std::optional<double> viewersShare(const Watching &watching);

/// What else went on where a run was, added up by its agent from its samples; all of it measured, absent is unknown.
struct Surroundings {
    double measuredS = 0; ///< the time that the figures below cover
    /// Processor time on the cores which the agent may use that went to nobody of the run's: neither its ranks nor what they
    /// started, agent, queue or viewers. A child that ended between two looks (one a second) counts here for that second.
    std::optional<double> otherCpuS;
    std::optional<double> stolenS; ///< of those cores' time, what a hypervisor gave to somebody else
    /// How long the slowest clock was held down: of GPUs while NVML named a reason, largest over them; of CPUs, while the
    /// control group's quota was used up.
    std::optional<double> throttledS;
    std::vector<std::string>
        throttle; ///< the reasons, each once: "software power cap", "CPU quota", "processor too hot"
    bool operator==(const Surroundings &) const = default;
};

struct RankExit {
    int rank = 0;
    std::string host;
    std::optional<int> code, signal;
    std::string signalName;
};
/// result.json
struct RunResult {
    std::string run;
    RunState state = RunState::Failed; ///< done, failed, stopped
    int exitCode = 1;                  ///< 0, 1, 2, 130
    std::string reason;                ///< one sentence when not done
    std::int64_t startWallUs = 0, endWallUs = 0;
    double runTimeS = 0; ///< launch to exit, monotonic
    std::vector<RankExit> ranks;
    std::optional<Summary> summary;
    std::optional<Watching> watching;         ///< absent: the run is older than that, or no sample was taken
    std::optional<Surroundings> surroundings; ///< likewise
    std::uint64_t logLines = 0;               ///< seq of the last line + 1: a reader knows whether it has all
    /// The same of the other nodes' logs as far as agent 0 has them; empty for one node.
    std::map<int, std::uint64_t> nodeLogLines;
};
[[nodiscard]] std::string toJson(const RunResult &result);
[[nodiscard]] Result<RunResult> runResultFromJson(std::string_view text);

/// What any reader derives from the files alone: result.json, and whether the agent of the lowest node here lives.
struct RunStatus {
    enum class Kind { Starting, Running, Finished, AgentDied };
    Kind kind = Kind::Starting;
    std::optional<RunResult> result;
    std::string sentence; ///< "done", "failed: agent died", …
};
[[nodiscard]] RunStatus readRunStatus(const RunFolder &folder);

/// What lockstep-agent serve reads on stdin, as one JSON line; it answers one line on stdout:
///   {"type":"ready","run":"…","socket":"…","pid":123}   or   {"type":"error","message":"…","exit_code":2}
/// Of a run on several nodes agent 0 is asked first; its answer, given once its listener is bound, also has
///   "join":"HOST:PORT","token":"…"
/// and goes to every other agent (node > 0) in that one's request, on stdin and nowhere else. Such an agent answers ready
/// once agent 0 has taken it in, or why it could not join (exit code 1, 2). Ranks start when all nodes have joined.
/// Whoever launches may leave after the answers; before, agent 0 gives up by itself after the limit.
struct LaunchRequest {
    RunRecord record; ///< run id and start may be empty: the agent fills them in
    bool detach = true;
    /// The agent goes with whoever launches it and keeps nothing: in the foreground, consoles of its ranks on stdout after the
    /// answer ("[rank 0] …"), stopped when stdin ends, its folder removed at the end. For runs that train nothing.
    bool attended = false;
    int node = 0;            ///< which of record.config->nodes the agent is of
    std::string join, token; ///< node > 0: agent 0's answer
    int joinPort = 0;        ///< node 0: where to listen; 0: any free port
    double joinLimitS = 60;  ///< node 0: how long the others may take; node > 0: how long to try
    double leaseS = 600;     ///< node > 0: how long its ranks are kept without agent 0
};
[[nodiscard]] std::string toJson(const LaunchRequest &request);
[[nodiscard]] Result<LaunchRequest> launchRequestFromJson(std::string_view text);

} // namespace lockstep
