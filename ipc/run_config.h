// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/methods.h"
#include "ipc/models.h"
#include "ipc/placement.h"
#include "ipc/script_claims.h"

namespace lockstep {

/// Maximum size of a bucket of gradients in MiB, as in PyTorch. The first bucket is smaller, so that communication
/// begins early (c10d's kDefaultFirstBucketBytes).
inline constexpr double defaultBucketMb = 25, firstBucketMb = 1;
inline constexpr int mostRestarts = 1000;

/// The configuration of one run: the trainer's options, a recipe's keys and the window's form all describe it.
/// runConfigFields() is the only list of its fields. The defaults here are the defaults everywhere.
struct RunConfig {
    Method method = Method::Baseline;
    std::string dpReplicas = "each-step";       ///< each-step | persistent
    std::string model{modelTable.front().name}; ///< a row of ipc/models.h, or the path of a file (ipc/model_facts.h)
    std::string dataset{dataSetTable.front().name};
    std::string dataDir;            ///< empty: where the package of the distribution puts it
    std::int64_t trainSamples = 0;  ///< 0: all; N: the first N samples of the training set
    std::int64_t testSamples = 0;   ///< 0: all; N: the first N samples of the test set
    std::string bertDir;            ///< bert: folder with config.json, vocab.txt, model.safetensors; empty: get-data's
    std::string textColumn;         ///< texts: column of the file; empty: the data set's own
    std::string labelColumn;        ///< likewise
    int maxTokens = 128;            ///< texts: longer ones are cut
    std::string padding = "bucket"; ///< bucket | longest | full: how texts of a batch get equally long
    std::string device = "cpu";     ///< cpu | cuda
    std::vector<std::string> devices = {"0"}; ///< indices of CPU devices, or CUDA indices / GPU UUIDs
    int coresPerDevice = 1;                   ///< cores of a CPU device
    std::string backend = "auto";             ///< auto | gloo | nccl
    std::string interface; ///< network interface for the rendezvous and Gloo; empty: loopback on one node
    /// The run's nodes; empty: one node, described by the fields above. Otherwise each node has its own device,
    /// devices, cores, data folder and interface. Then only ranks use `devices` above; their agent fills it in.
    std::vector<NodePlace> nodes;
    int threads = 0; ///< intra-op threads per device; 0: one per core of the device
    int epochs = 10;
    std::int64_t batchSize = 64;     ///< global: each rank (or DP replica) takes batchSize / devices
    std::int64_t batchPerDevice = 0; ///< > 0: weak scaling; excludes an explicit batchSize
    double lr = 0.01;
    std::string lrRule = "none";         ///< none | linear (lr × batchParts())
    std::string lrSchedule = "constant"; ///< constant | linear (down to 0 after the last step)
    std::int64_t warmupSteps = 0;        ///< first steps in which the learning rate grows from 0
    double clipGradNorm = 0;             ///< gradients longer than this, as one vector, are shortened to it; 0: never
    double momentum = 0.9;               ///< SGD only
    double weightDecay = 0.0;
    bool decayBiases = true;       ///< weight decay for biases and LayerNorm's parameters, too
    std::string optimizer = "sgd"; ///< sgd | adam | adamw
    std::optional<double> dropout; ///< empty: the model's own; 0 turns it off
    std::uint64_t seed = 1;
    int workers = 0;              ///< loading threads per process; 0 loads inside the training loop
    std::string workerCores;      ///< list of cores for the workers; empty: those of the process
    std::string loader = "batch"; ///< item | batch | device
    std::string augment = "none"; ///< none | affine
    bool pinMemory = false;
    bool nonBlocking = false;
    std::string precision = "fp32";    ///< fp32 | bf16 (autocast) | fp64
    bool channelsLast = false;         ///< images and convolutions in NHWC order
    bool cudaGraph = false;            ///< record a step's GPU work once and launch it as a whole (baseline on a GPU)
    double bucketMb = defaultBucketMb; ///< maximum size of a bucket of gradients, MiB
    std::string allReduce = "backend"; ///< backend | ring: the backend's all-reduce, or a ring of sends and receives
    std::string compressGradients = "none"; ///< none | fp16 | bf16: format in which gradients are sent
    int accumulate = 1; ///< parts of a device's share of a batch that are computed one after another, for one update
    std::string shards = "even"; ///< even | measured | adaptive: each device's share of a batch
    int servers = 1;             ///< ranks that each hold a share of the parameters (ps-async)
    int serverDevices = 0; ///< devices, the last ones, that do only that; 0: the first ranks also train (ps-async)
    std::int64_t maxStaleness = -1; ///< ps-async: updates between a rank's reading and its own update; -1: no limit
    int stages =
        0; ///< pipeline: devices that share out the model; 0: all of them; else several pipelines share out the batch
    int microBatches = 4;                  ///< pipeline: parts of a batch that are in the pipeline at the same time
    std::string pipelineSchedule = "1f1b"; ///< 1f1b | gpipe
    std::string stageLayers;               ///< pipeline: layers of each stage, "2,3"; empty: by their measured times
    std::string scheduling = "other";      ///< other | batch: Linux scheduling policy of the rank's threads
    std::string init;          ///< safetensors file with the initial parameters; empty: random, from the seed
    std::string saveFinal;     ///< safetensors file for the final parameters
    std::string checkpointDir; ///< empty: no checkpoints, unless maxRestarts needs some
    int maxRestarts = 0;       ///< how often the agent starts all ranks again after one failed; 0 to mostRestarts
    std::string onNonfinite = "stop"; ///< stop | continue | rollback: when a loss is NaN or infinite
    double hangAfter = 0; ///< seconds after which ranks that wait for another one are a hang; 0: by the step time
    bool resume = false;  ///< continue from the newest good checkpoint in checkpointDir
    std::string initMethod = "env://"; ///< env:// | tcp://H:P | file:///PATH
    bool oversubscribe = false;        ///< for tests: several devices on one core; such runs are "not comparable"
    std::int64_t trace = 0;            ///< number of steps to trace from the run's first on; 0: none
    std::string frames;                ///< unix:PATH | FILE | - ; empty: LOCKSTEP_FRAMES or none
    std::string summary;               ///< FILE.json or -; empty: none

    bool operator==(const RunConfig &) const = default;
};

/// Number of devices of the run, over all nodes.
[[nodiscard]] int deviceCount(const RunConfig &config);
/// Number of processes of the run, over all nodes: one per device for distributed methods, else one.
[[nodiscard]] int processCount(const RunConfig &config);
/// Among how many of the run's devices the model is shared out: the stages of a pipeline; 1 for other methods.
[[nodiscard]] int stageCount(const RunConfig &config, int devices);
/// How many devices train; the last ones may serve only (server_devices).
[[nodiscard]] int trainingDevices(const RunConfig &config, int devices);
/// Whether some of them only serve.
[[nodiscard]] bool hasServingDevices(const RunConfig &config);
/// Whether that rank's device does not train.
[[nodiscard]] bool onlyServes(const RunConfig &config, int rank, int devices);
/// Among how many devices, or pipelines of several, a batch is shared out.
[[nodiscard]] int batchParts(const RunConfig &config, int devices);
/// Whether any device on any node is a GPU.
[[nodiscard]] bool anyGpu(const RunConfig &config);
/// Whether epochs end with a checkpoint: into checkpointDir, else, for restarts, into the run's folder (RunFolder::checkpoints).
[[nodiscard]] bool writesCheckpoints(const RunConfig &config);
/// The same training without what keeps it or goes on with it: checkpoints, final parameters, restarts. For runs that only try
/// or measure something.
[[nodiscard]] RunConfig withoutKeeping(RunConfig config);
/// The global batch size, however it was given.
[[nodiscard]] std::int64_t globalBatch(const RunConfig &config);

enum class FieldType { Text, Integer, Real, Switch, Choice, List };
/// Where the window's form shows a field.
enum class FieldGroup { Main, Devices, Training, Data, Advanced, Files };

/// What a different value of a field changes in a run. Code that asks which runs are alike lists the effects to ignore.
enum class FieldEffect {
    None,   ///< paths and reporting: neither what is computed nor how long it takes
    Chance, ///< random start: the same work with other numbers
    Start,  ///< part of the work was done in an earlier run
    Route,  ///< how ranks reach each other; launchers may choose it
    Beside, ///< work besides training: a trace, checkpoints
    Length, ///< the number of steps
    Means,  ///< what comparisons vary: method, devices, backend
    Step    ///< what a step computes, and how
};

struct FieldSpec {
    std::string_view key;   ///< JSON key and, with '-' for '_', the option: "batch_size" is --batch-size
    std::string_view label; ///< "Batch size (global)"
    std::string_view help;  ///< one sentence with unit and meaning, for the tooltip and --help
    FieldType type;
    FieldGroup group;
    std::vector<std::string_view> choices; ///< for Choice
    std::string_view fileEnding = {}; ///< for Choice: the path of a file that ends so may be given, too; empty: none
    bool perProcess =
        false; ///< set by the launcher for each process (frames, summary, init_method); not in the form, not in recipes
    bool fixedOnResume = false; ///< changes what is trained: all ranks, and a resumed run, must have the same value
    FieldEffect effect = FieldEffect::Step;
    bool (*applies)(const RunConfig &) = nullptr;             ///< call appliesTo() instead; null: always applies
    std::string (*inEffect)(const RunConfig &) = nullptr;     ///< call effectiveValue() instead; null: as get
    std::string (*get)(const RunConfig &);                    ///< value as text; lists joined by ','
    Result<void> (*set)(RunConfig &, std::string_view value); ///< parses and range-checks one value
};

[[nodiscard]] std::span<const FieldSpec> runConfigFields();
/// A value as the field itself would write it ("1e-2" as "0.01"); as it is when the field can't take it.
[[nodiscard]] std::string normalised(const FieldSpec &field, const std::string &value);

/// Whether the field's value can change anything in this run: e.g. a backend needs a distributed method, momentum needs
/// sgd.
[[nodiscard]] bool appliesTo(const FieldSpec &field, const RunConfig &config);
/// The value in effect, as text: for threads = 0 the actual number, for batch_size the global batch however it was
/// given. Empty ("false" for a switch) if the field does not apply, or if another field's value includes this one.
[[nodiscard]] std::string effectiveValue(const FieldSpec &field, const RunConfig &config);
/// The part of the learning rate that step `step` (from 0) of `steps` uses, by lr_schedule and warmup_steps. As transformers'
/// get_linear_schedule_with_warmup and get_constant_schedule_with_warmup have it: the first step of a warm-up uses 0.
[[nodiscard]] double lrShare(const RunConfig &config, std::int64_t step, std::int64_t steps);
/// Bytes of a number that ranks send each other: of the precision, or of the format that gradients are sent in.
[[nodiscard]] int sentNumberBytes(const RunConfig &config);
/// The learning rate after applying lr_rule, in a run of this number of devices, those that only serve included.
[[nodiscard]] double effectiveLr(const RunConfig &config, int devices);
[[nodiscard]] const FieldSpec *findField(std::string_view key);
/// The key that is most similar to a misspelt one, or to a flag; empty: none is similar.
[[nodiscard]] std::string nearestKey(std::string_view key);
/// The way out for an unknown key: "did you mean batch_size?", with `mark` on both sides of the key, or where the keys are listed.
[[nodiscard]] std::string keyInstead(std::string_view key, std::string_view mark = "");
/// "--batch-size"
[[nodiscard]] std::string flagOf(const FieldSpec &field);

/// stage_layers as numbers; empty for an empty text.
[[nodiscard]] Result<std::vector<int>> parseStageLayers(std::string_view text);

/// Whether validate() may read the description of a model in a file. What is only suggested leaves it: the path may be another user's.
enum class Descriptions { Read, Leave };
/// All mistakes at once; `where` of each is the JSON key. Examples: an indivisible batch, DP over NCCL, an unknown
/// device. Checks the configuration alone, and the description of a model in a file where this machine has it;
/// checkMachine() checks the devices against a machine, checkModelFile() that the model's files are there.
[[nodiscard]] std::vector<Error> validate(const RunConfig &config, Descriptions descriptions = Descriptions::Read);

/// What a machine offers, for checkMachine().
struct MachineFacts {
    std::vector<int> allowedCores;     ///< CPU numbers that the process may use
    std::vector<std::string> gpuUuids; ///< GPUs that it may use, in CUDA's order
};

/// Why this machine can't run the configuration: "needs 8 devices of 1 core, has 2". Empty if it can. With several
/// nodes pass configOfNode().
[[nodiscard]] std::vector<Error> checkMachine(const RunConfig &config, const MachineFacts &facts);

/// The names of the run's devices in the configuration's order: "cpu:0"; for a GPU its UUID if `facts` knows it, else
/// "cuda:0".
[[nodiscard]] std::vector<std::string> deviceNames(const RunConfig &config, const MachineFacts &facts);

/// A JSON object with every key: devices as a list, numbers as numbers, absent values as null. Of a script, keys that say nothing
/// about it are left out where they hold their defaults.
[[nodiscard]] std::string toJson(const RunConfig &config, const ScriptClaims &claims = {});
/// Reads such an object; missing keys keep their defaults. All unknown keys and wrong types are reported, each with the
/// key, the line in `text` and the nearest valid key or value.
[[nodiscard]] tl::expected<RunConfig, std::vector<Error>> runConfigFromJson(std::string_view text);

/// The arguments that make lockstep-trainer run this configuration: the method, and what differs from the default.
[[nodiscard]] std::vector<std::string> toArguments(const RunConfig &config);

} // namespace lockstep
