// SPDX-License-Identifier: MIT
#pragma once
// Frames: JSON objects, one per line, UTF-8, at most 64 KiB with the newline. Keys carry their units.
//
// Every frame of a rank:  type, rank, rseq (per rank, gapless from 0), mono_ns, wall_us.
// Every frame of an agent: the same without rank and rseq.
// The log's writer adds node, seq and, as the last key, crc (ipc/log.h).
// Unknown keys are kept (`Frame::extra`) and written again. Readers count and skip unknown types.
// An absent value is unknown, never 0. Non-finite numbers are written as "NaN", "Inf", "-Inf".
// Epochs count from 1; steps count from 0 over the whole run. Times are in seconds unless the key says otherwise.
//
// Examples, one per type:
// {"type":"header","format":1,"run":"20260102T030405Z-89abcdef","host":"box","mono_ns":1,"wall_us":2,"node":0,"seq":0,"crc":"…"}
// {"type":"state","rank":0,"rseq":0,"mono_ns":1,"wall_us":2,"state":"init","detail":"…","pid":12,"host":"box","device":"cpu:0",
//  "cores":"0","backend":"gloo","world_size":2,"threads":1,"scheduling":"other","version":"0.1.0","total_steps":9380,
//  "steps_per_epoch":938,"epochs":10}
// {"type":"state",…,"state":"init",…,"about":{"method":"ddp","workers":2,"batch_size":64}}  (a script, about itself)
// {"type":"state",…,"state":"training",…,"about":{"batch_size":64}}  (a script, what its steps have shown of it)
// {"type":"state",…,"state":"init",…,"counts_anew":true}  (a script that knows nothing of Lockstep)
// {"type":"state",…,"state":"init",…,"leaves_pauses_out":true}  (a rank that LOCKSTEP_PAUSED is set for)
// {"type":"steps",…,"epoch":1,"first_step":0,"last_step":12,"count":13,"samples":832,
//  "loss":{"min":2.1,"mean":2.2,"max":2.3,"last":2.1},"phases":{"load":{"sum_s":0.01,"max_s":0.002},…}}
//  (of scripts that know nothing of Lockstep, what DistributedDataParallel's timers give is shared out over up to 16 steps: there the
//  longest `backward`, `exposed` and `comm` need not be a single step's)
// {"type":"steps",…,"scalars":{"grad_norm":{"sum":16.9,"weight":13,"min":1.1,"max":1.6,"last":1.2},"temperature":0.7}}
//  (metrics, ipc/metrics.h: an object sums up the steps of the window or epoch, a number is a single value)
// {"type":"steps",…,"replicas":[{"device":"cpu:0","phases":{"parallel_forward":{"sum_s":…,"max_s":…},…}},…]}  (DP)
// {"type":"epoch",…,"epoch":1,"loss":0.71,"duration_s":4.1,"samples":60000,"steps":938,"start_mono_ns":1,
//  "phases":{"load":{"sum_s":…,"max_s":…},…},
//  "devices":[{"device":"cpu:0","utilization_mean":0.97,"utilization_max":1.0,"memory_mean_bytes":…,"memory_max_bytes":…}]}
// {"type":"epoch",…,"before":{"duration_s":1.5,"samples":20000,"steps":312,"phases":{…}}}  (of a run that went on in the epoch's middle)
// {"type":"eval",…,"epoch":1,"accuracy":0.88,"loss":0.33,"samples":10000,"per_class_accuracy":[…],"duration_s":0.4}
// {"type":"device",…,"interval_s":0.2,"devices":[{"device":"cpu:0","kind":"cpu","cores":"0","utilization":0.93,…}],
//  "processes":[{"rank":0,"pid":12,"cpu_cores":0.98,"rss_bytes":…}],"agent":{…},"viewers":[{…}]}
// {"type":"comm",…,"epoch":1,"first_step":0,"last_step":12,"exposed_s":0.01,"wait_s":0.004,"hidden_s":0.02,
//  "buckets":[{"bucket":0,"size_bytes":246824,"count":13,"ready_s":0.02,"start_s":…,"end_s":…}]}
// {"type":"comm",…,"staleness":[3,9,1]}  (ps-async: updates by staleness)
// {"type":"comm",…,"stage_steps":13,"stage_work":[{"phase":"forward","micro_batch":0,"start_s":0.001,"end_s":0.004},…]}  (pipeline)
// {"type":"log",…,"level":"info","message":"…","source":"trainer"}
// {"type":"alert",…,"severity":"error","kind":"rank_died","message":"rank 1 on box was killed by SIGKILL"}
// {"type":"heartbeat",…,"at":{"step":40,"phase":"exposed","since_s":1.2,"collectives":812,
//  "collectives_ended":811,"wait_s":1.2}}
// {"type":"link",…,"of_node":1,"host":"box2","link":"lost","reason":"…","next_seq":4711,"clock_offset_s":0.002,"round_trip_s":0.0003}
//  (by agent 0: the state of its link to another node's agent)
// {"type":"exit",…,"rank":1,"pid":13,"host":"box","code":null,"signal":9,"signal_name":"SIGKILL","reason":"…"}  (by the agent)
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ipc/error.h"
#include "ipc/phases.h"
#include "ipc/scalars.h"

namespace lockstep {

inline constexpr std::size_t maxFrameBytes = 64 * 1024; ///< including the newline
inline constexpr int logFormat = 1;
inline constexpr std::int64_t maxRank = 1'000'000; ///< of a frame; a run has as many ranks at most

/// State of a rank or a run. A state frame without a rank comes from the agent and is about the whole run.
enum class RunState { Init, Training, Evaluating, Checkpointing, Done, Failed, Stopped };
[[nodiscard]] std::string_view toString(RunState state);
[[nodiscard]] std::optional<RunState> runStateFrom(std::string_view text);
[[nodiscard]] bool isFinal(RunState state); ///< Done, Failed, Stopped

/// The phases that add up to an epoch, in order.
[[nodiscard]] const std::vector<std::string_view> &additivePhases();

struct PhaseTime {
    double sumS = 0;            ///< over the steps of the window or epoch
    std::optional<double> maxS; ///< longest single step
    bool operator==(const PhaseTime &) const = default;
};
/// What a script reports about itself, as text. Keys are those of RunConfig where it has one: method, workers,
/// batch_size, …
using About = std::map<std::string, std::string, std::less<>>;
/// Name of a file that a rank has read → the SHA-256 of its bytes, lower-case hex.
using FileDigests = std::map<std::string, std::string, std::less<>>;
/// The most words and the most files that are kept of a run: a rank may name any.
inline constexpr std::size_t mostWords = 256, mostFiles = 64;
/// A longer file of a script's own has no digest. In bytes; Lockstep's Python package makes them.
inline constexpr std::size_t longestScriptFile = 4 * 1024 * 1024;
/// The most phases that are kept of a frame, and different ones of a run. Lockstep's Python package alerts where a script names more.
inline constexpr std::size_t mostPhases = 256;
/// Whether a phase that is new is kept beside so many. Those that add up to an epoch always are.
[[nodiscard]] bool keepsPhase(std::string_view name, std::size_t known);
/// Takes what is new, as far as there is room.
void takeNew(std::map<std::string, std::string, std::less<>> &known,
             const std::map<std::string, std::string, std::less<>> &more, std::size_t most);
/// By phase name; a phase that was not measured is absent.
using PhaseTimes = std::map<std::string, PhaseTime, std::less<>>;

struct StateFrame {
    RunState state = RunState::Init;
    std::string detail;
    std::optional<int> epoch;
    // Sent with `init` by each rank:
    std::optional<std::int64_t> pid;
    std::string host, device, cores, backend, scheduling;
    std::string version; ///< of Lockstep, in what reports
    std::optional<int> worldSize, threads, epochs;
    std::optional<std::int64_t> totalSteps, stepsPerEpoch;
    /// DP: samples per replica, e.g. {32, 32}.
    std::vector<std::int64_t> replicaBatch;
    About about; ///< with `init`, from scripts; later what they have found out since
    /// With `init`: of the trainer its data, and of rank 0 what its model starts from, after the setting that leads there
    /// ("bert_dir/vocab.txt"); of a script its own Python files. At most mostFiles.
    FileDigests files;
    /// With `init`, of a script that knows nothing of Lockstep: its process counts epochs from 1 and steps from 0,
    /// whatever it goes on from. The log has their numbers in the run (trainer/agent/log/epoch_numbers.h).
    bool countsAnew = false;
    /// With `init`: no duration that it reports has a pause of a run that takes turns in it; it heeds LOCKSTEP_PAUSED
    /// (trainer/agent/ranks/turns.h).
    bool leavesPausesOut = false;
    bool operator==(const StateFrame &) const = default;
};

struct LossWindow {
    double min = 0, mean = 0, max = 0, last = 0; ///< the mean is weighted by samples; all may be non-finite
    bool operator==(const LossWindow &) const = default;
};
/// The first of mean, last, min and max that is NaN or infinite (ipc/sound_values.h); absent: none is.
[[nodiscard]] std::optional<double> notFiniteIn(const LossWindow &loss);

/// DP: one device's own time by phase, in those parts of a step that devices do in parallel: parallel_forward,
/// parallel_backward and, where each device updates its own copy, optimizer.
struct ReplicaTime {
    std::string device;
    PhaseTimes phases;
    bool operator==(const ReplicaTime &) const = default;
};

/// A window of about 100 ms of steps.
/// Without a step (count 0) it holds metrics that a script measured after `lastStep`, such as a validation's.
struct StepsFrame {
    int epoch = 1;
    std::int64_t firstStep = 0, lastStep = 0, count = 0, samples = 0;
    std::optional<LossWindow> loss; ///< of this rank alone
    PhaseTimes phases;
    std::vector<ReplicaTime> replicas = {}; ///< DP
    Scalars scalars = {};                   ///< this rank's own metrics
    bool operator==(const StepsFrame &) const = default;
};

/// Whether a rank that had reached that step makes steps again: it was restarted.
[[nodiscard]] inline bool goesBack(const StepsFrame &window, std::int64_t reached) {
    return window.count > 0 && window.firstStep <= reached;
}

struct DeviceEpochUse {
    std::string device;
    std::optional<double> utilizationMean, utilizationMax; ///< 0..1
    std::optional<double> memoryMeanBytes, memoryMaxBytes;
    bool operator==(const DeviceEpochUse &) const = default;
};

/// What was made of an epoch before the checkpoint from which a run went on in its middle.
struct MadeBefore {
    double durationS = 0;
    std::int64_t samples = 0, steps = 0;
    PhaseTimes phases;
    bool operator==(const MadeBefore &) const = default;
};

/// Loss, durationS, samples, steps and phases are of the whole epoch, what an earlier run made of it included; the rest is of this run.
struct EpochFrame {
    int epoch = 1;
    /// Sample-weighted mean over all ranks without padded duplicates, after a rollback of finite losses alone; scripts leave it out.
    std::optional<double> loss;
    double durationS = 0;     ///< wall time of this rank's training loop, without evaluation
    std::int64_t samples = 0; ///< of this rank, without padded duplicates
    std::int64_t steps = 0;
    std::int64_t startMonoNs = 0;
    PhaseTimes phases;
    std::vector<DeviceEpochUse> devices;    ///< added by the agent
    std::vector<ReplicaTime> replicas = {}; ///< DP; absent if the epoch was interrupted and resumed
    /// Batches that loading workers had ready when the epoch began: the evaluation before it hid the time of loading
    /// them. Absent without workers.
    std::optional<std::int64_t> readyBatches = {};
    Scalars scalars = {}; ///< this rank's own metrics over the epoch's steps; after a resume, over those since then
    std::optional<MadeBefore> before = {}; ///< of durationS, samples, steps and phases; absent: all was made here
    bool operator==(const EpochFrame &) const = default;
};

struct EvalFrame {
    int epoch = 1;
    double accuracy = 0; ///< 0..1, over the whole test set, each image counted once
    std::optional<double> loss;
    std::int64_t samples = 0;
    std::vector<double> perClassAccuracy; ///< 0..1
    std::optional<double> durationS;      ///< absent: a script has not measured it
    bool operator==(const EvalFrame &) const = default;
};

struct DeviceSample {
    std::string device; ///< "cpu:0", or the GPU's UUID
    std::string kind;   ///< cpu | cuda
    std::string name;   ///< the device's model, if known
    std::string cores;  ///< CPU devices: core list
    /// 0..1. CPU: busy share of its cores, spinning included. GPU: share of time in which a kernel ran.
    std::optional<double> utilization;
    std::optional<double> smActivity; ///< 0..1
    std::optional<double> memoryUsedBytes, memoryTotalBytes;
    std::optional<double> powerW, temperatureC, clockMhz;
    std::optional<double> energyJ;     ///< a counter: joules since the GPU's driver was loaded
    std::vector<std::string> throttle; ///< NVML's throttle reasons in words
    bool operator==(const DeviceSample &) const = default;
};

struct ProcessSample {
    std::optional<int> rank; ///< for ranks
    std::int64_t pid = 0;
    std::optional<double> cpuCores; ///< CPU seconds per second
    std::optional<double> rssBytes;
    bool operator==(const ProcessSample &) const = default;
};

/// A sample. That of many ranks is several frames with the same time, each of a part of the devices and processes.
struct DeviceFrame {
    double intervalS = 0;
    std::vector<DeviceSample> devices;
    std::vector<ProcessSample> processes; ///< the ranks
    std::optional<ProcessSample> agent;
    std::vector<ProcessSample> viewers; ///< local followers, without the owner of the queue
    bool operator==(const DeviceFrame &) const = default;
};

/// Updates of a parameter server are counted by their staleness up to here.
inline constexpr std::int64_t mostStaleness = 63;
/// Where CommFrame::staleness counts an update: another rank may call it less stale than 0.
[[nodiscard]] constexpr std::size_t entryOfStaleness(std::int64_t staleness) {
    return staleness < 0 ? 0 : std::size_t(staleness < mostStaleness ? staleness : mostStaleness);
}

struct BucketTime {
    int bucket = 0;
    std::int64_t sizeBytes = 0, count = 0;
    std::optional<double> readyS, startS, endS; ///< means, in seconds since backward began
    bool operator==(const BucketTime &) const = default;
};

/// pipeline: what a stage computes for one micro-batch of a step.
struct StageWork {
    std::string phase;           ///< forward | backward
    int microBatch = 0;          ///< from 0, in the order of the batch
    double startS = 0, endS = 0; ///< means over steps, in seconds since the first stage began the step
    bool operator==(const StageWork &) const = default;
};
inline constexpr std::size_t mostStageWork = 256; ///< of one stage; of more nothing is reported

struct CommFrame {
    int epoch = 1;
    std::int64_t firstStep = 0, lastStep = 0;
    std::optional<double> exposedS, hiddenS, waitS;
    std::vector<BucketTime> buckets;
    /// ps-async: this rank's updates of the servers by their staleness, 0 first; the last entry that fits, mostStaleness, counts all
    /// from there on. Empty for other methods.
    std::vector<std::int64_t> staleness;
    std::int64_t stageSteps = 0;           ///< that stageWork is the mean of
    std::vector<StageWork> stageWork = {}; ///< pipeline on one node: what this rank's stage computes, in order
    bool operator==(const CommFrame &) const = default;
};

struct LogFrame {
    std::string level; ///< debug | info | warning | error
    std::string message;
    std::string source; ///< trainer | console | agent
    bool operator==(const LogFrame &) const = default;
};

struct AlertFrame {
    std::string severity; ///< warning | error
    std::string kind;     ///< alertTable (ipc/alerts.h) has ours; a script may invent others
    std::string message;  ///< one sentence
    std::optional<std::int64_t> step;
    bool operator==(const AlertFrame &) const = default;
};

/// Where a rank is in its training.
struct RankPosition {
    std::optional<std::int64_t> step; ///< the one it is in, or begins next
    std::string phase;                ///< of the step; empty: unknown
    std::optional<double> sinceS;     ///< how long it has been in that phase
    /// Collectives that it has entered so far. All ranks enter the same ones in the same order, so the number says who
    /// has come how far. In ps-async each step's wait counts as one, and a rank may end it before others come.
    std::optional<std::int64_t> collectives, collectivesEnded;
    std::optional<double> waitS; ///< how long it has waited in the oldest one that has not ended; absent: in none
    bool operator==(const RankPosition &) const = default;
};

/// "step 40, phase exposed"; empty: unknown.
[[nodiscard]] std::string placeInWords(const RankPosition &at);

/// A rank sends one when it has sent nothing else for a second.
struct HeartbeatFrame {
    std::optional<RankPosition> at;
    bool operator==(const HeartbeatFrame &) const = default;
};

struct ExitFrame { ///< written by the agent about the frame's rank
    std::int64_t pid = 0;
    std::string host;
    std::optional<int> code, signal;
    std::string signalName; ///< "SIGKILL"
    std::string reason;     ///< one sentence
    bool operator==(const ExitFrame &) const = default;
};

struct HeaderFrame {
    int format = logFormat;
    std::string run, host;
    bool operator==(const HeaderFrame &) const = default;
};

/// Written by agent 0 when the link to another node's agent changes. It says nothing about that node's ranks: when the
/// link is lost, their state is unknown, not failed.
struct LinkFrame {
    int ofNode = 1;
    std::string host;                     ///< of that agent, as it reports it
    std::string link;                     ///< up | lost | ended (the ranks are over and all log lines have arrived)
    std::string reason;                   ///< one sentence, when lost
    std::optional<std::uint64_t> nextSeq; ///< the first line of its log that agent 0 lacks
    /// Its wall clock minus agent 0's, from the quickest of several round trips, and the duration of that trip. The
    /// error of the offset is at most half of it.
    std::optional<double> clockOffsetS, roundTripS;
    bool operator==(const LinkFrame &) const = default;
};

/// A type that this version does not know; its keys are in Frame::extra.
struct UnknownFrame {
    std::string type;
    bool operator==(const UnknownFrame &) const = default;
};

using FrameBody = std::variant<HeaderFrame, StateFrame, StepsFrame, EpochFrame, EvalFrame, DeviceFrame, CommFrame,
                               LogFrame, AlertFrame, HeartbeatFrame, ExitFrame, LinkFrame, UnknownFrame>;

struct Frame {
    std::optional<int> rank; ///< absent: the frame is from the agent
    std::optional<std::uint64_t> rseq;
    std::int64_t monoNs = 0, wallUs = 0;
    std::optional<int> node;          ///< set by the log's writer
    std::optional<std::uint64_t> seq; ///< set by the log's writer
    FrameBody body;
    /// Keys that this version does not know, each with its JSON text, in their original order.
    std::vector<std::pair<std::string, std::string>> extra;
    bool operator==(const Frame &) const = default;
};

/// "steps", "epoch", …
[[nodiscard]] std::string_view typeOf(const Frame &frame);

/// Whether the log of that node can have the frame: a header is its first line, what ranks report names its rank, devices are sampled by
/// agents, and only agent 0 reports links and a restart of all ranks. Other frames, and whose ranks they name, are not looked at.
[[nodiscard]] bool canBeOf(int node, const Frame &frame);

/// One line without newline. It has node and seq if they are set, but never crc, which the log adds.
[[nodiscard]] std::string encode(const Frame &frame);

/// When a frame was made, from its line alone, without decoding the rest; 0: the line doesn't say.
[[nodiscard]] std::int64_t wallUsOf(std::string_view line);

/// Decodes one frame. Ignores a `crc` key, which LineChecker checks. Errors name the key and what was expected. Not
/// thread safe: use one Decoder per thread, since it keeps simdjson's buffers.
class Decoder {
public:
    Decoder();
    ~Decoder();
    Decoder(Decoder &&) noexcept;
    Decoder &operator=(Decoder &&) noexcept;
    [[nodiscard]] Result<Frame> decode(std::string_view line);
    /// Whether the frame that was decoded last has this key, also where its value says nothing, as null or [] do.
    [[nodiscard]] bool has(std::string_view key) const;

private:
    struct Impl;
    Impl *m_impl;
};

} // namespace lockstep
