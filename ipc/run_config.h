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

namespace lockstep {

/// Gradients travel in buckets of that many MiB at most, as PyTorch's do; the first one holds no more than the second figure,
/// c10d's kDefaultFirstBucketBytes, so that something is on its way early.
inline constexpr double defaultBucketMb = 25, firstBucketMb = 1;

/// One run, as the trainer's flags, a recipe's keys and the window's form describe it.
/// The table `runConfigFields()` is the only list of them: flags, JSON keys, form fields all come from it.
/// Defaults here are the defaults everywhere.
struct RunConfig {
    Method method = Method::Baseline;
    std::string dpReplicas = "each-step"; ///< each-step | persistent
    std::string model{modelTable.front().name};
    std::string dataset{dataSetTable.front().name};
    std::string dataDir;                      ///< empty: where the distribution's package puts it
    std::int64_t trainSamples = 0;            ///< 0: all of them; else the first N of the training set
    std::string device = "cpu";               ///< cpu | cuda
    std::vector<std::string> devices = {"0"}; ///< indices of cpu blocks, or CUDA indices / GPU UUIDs
    int coresPerDevice = 1;                   ///< C: cores of a CPU device
    std::string backend = "auto";             ///< auto | gloo | nccl
    std::string interface; ///< network interface for the rendezvous and Gloo; empty: loopback on one node
    /// The run's nodes; empty: one, by the fields above. Else device, devices, cores, data folder and interface are each
    /// node's own, and `devices` above is looked at only by the ranks of a node, for whom the agent fills it in.
    std::vector<NodePlace> nodes;
    int threads = 0; ///< intra-op threads a device; 0: one a core of the device
    int epochs = 10;
    std::int64_t batchSize = 64;     ///< global: each rank (or DP replica) takes batchSize / devices
    std::int64_t batchPerDevice = 0; ///< > 0: weak scaling, excludes an explicit batchSize
    double lr = 0.01;
    std::string lrRule = "none"; ///< none | linear (lr × devices)
    double momentum = 0.9;       ///< SGD only
    double weightDecay = 0.0;
    std::string optimizer = "sgd"; ///< sgd | adam | adamw
    std::optional<double> dropout; ///< empty: the model's own; 0 switches it off
    std::uint64_t seed = 1;
    int workers = 0;              ///< loading threads per process; 0 loads inside the training loop
    std::string workerCores;      ///< core list the workers run on; empty: the process's own cores
    std::string loader = "batch"; ///< item | batch | device
    std::string augment = "none"; ///< none | affine
    bool pinMemory = false;
    bool nonBlocking = false;
    std::string precision = "fp32";    ///< fp32 | bf16 (autocast) | fp64
    bool channelsLast = false;         ///< images and convolutions in NHWC order
    bool cudaGraph = false;            ///< record a step's GPU work once and launch it as a whole (baseline on a GPU)
    double bucketMb = defaultBucketMb; ///< cap of a bucket of gradients, MiB
    std::string scheduling = "batch";  ///< batch | other: Linux's policy for the rank's threads
    std::string init;                  ///< safetensors file with the first parameters; empty: seeded
    std::string saveFinal;             ///< safetensors file for the last parameters
    std::string checkpointDir;         ///< empty: no checkpoints
    bool resume = false;               ///< go on from the newest good checkpoint in checkpointDir
    std::string initMethod = "env://"; ///< env:// | tcp://H:P | file:///PATH
    bool oversubscribe = false;        ///< for tests: several devices on one core; marks the run "not comparable"
    std::int64_t trace = 0;            ///< steps to record as a trace from the run's first on; 0: none
    std::string frames;                ///< unix:PATH | FILE | - ; empty: LOCKSTEP_FRAMES or none
    std::string summary;               ///< FILE.json or -; empty: none

    bool operator==(const RunConfig &) const = default;
};

/// Devices the run uses, of all its nodes.
[[nodiscard]] int deviceCount(const RunConfig &config);
/// Processes it starts, on all its nodes: one a device for distributed methods, else one.
[[nodiscard]] int processCount(const RunConfig &config);
/// Whether any device of any of its nodes is a GPU.
[[nodiscard]] bool anyGpu(const RunConfig &config);
/// Global batch whichever way it was given.
[[nodiscard]] std::int64_t globalBatch(const RunConfig &config);

enum class FieldType { Text, Integer, Real, Switch, Choice, List };
/// Where a field shows in the window's form.
enum class FieldGroup { Main, Devices, Training, Data, Advanced, Files };

/// What another value of a field changes in a run. Whoever asks which runs are alike names the kinds of difference to overlook.
enum class FieldEffect {
    None,   ///< where files lie and how processes are told: neither what is computed nor how long it takes
    Chance, ///< what training starts from by chance: the same work with other numbers
    Start,  ///< part of the work was done before
    Route,  ///< which way ranks reach each other; launchers choose it where a plan leaves it open
    Beside, ///< work beside training: a trace, checkpoints
    Length, ///< how many steps there are
    Means,  ///< what methods are compared by: which of them, over which devices and backend
    Step    ///< what a step computes, and how
};

/// One field of a RunConfig.
struct FieldSpec {
    std::string_view key;   ///< JSON key and, with '-' for '_', the flag: "batch_size" is --batch-size
    std::string_view label; ///< "Batch size (global)"
    std::string_view help;  ///< one sentence with unit and meaning; tooltip and --help
    FieldType type;
    FieldGroup group;
    std::vector<std::string_view> choices; ///< for Choice
    bool perProcess =
        false; ///< given by the launcher to each process (frames, summary, init_method); no form field, no recipe key
    FieldEffect effect = FieldEffect::Step;
    bool (*applies)(const RunConfig &) = nullptr;             ///< ask appliesTo(); absent: it always does
    std::string (*inEffect)(const RunConfig &) = nullptr;     ///< ask effectiveValue(); absent: as get
    std::string (*get)(const RunConfig &);                    ///< value as text; lists joined by ','
    Result<void> (*set)(RunConfig &, std::string_view value); ///< parses and range-checks one value
};

[[nodiscard]] std::span<const FieldSpec> runConfigFields();

/// Whether the field's value can change anything in this run: a backend needs a distributed method, momentum needs sgd.
[[nodiscard]] bool appliesTo(const FieldSpec &field, const RunConfig &config);
/// The value that the run goes by, as text: of threads the number that 0 stands for, of batch_size the global batch however it
/// was given. Empty ("false" for a switch) where the field does not apply, or where another field's value includes this one.
[[nodiscard]] std::string effectiveValue(const FieldSpec &field, const RunConfig &config);
/// The learning rate after lr_rule, on so many devices.
[[nodiscard]] double effectiveLr(const RunConfig &config, int devices);
[[nodiscard]] const FieldSpec *findField(std::string_view key);
/// The nearest known key to a misspelt one (edit distance), for "did you mean".
[[nodiscard]] std::string_view nearestKey(std::string_view key);
/// "--batch-size"
[[nodiscard]] std::string flagOf(const FieldSpec &field);

/// Every mistake at once, each `where` the JSON key: indivisible batch, DP over NCCL, unknown device, both batches…
/// Looks at the config alone; what this machine has is checked by checkMachine().
[[nodiscard]] std::vector<Error> validate(const RunConfig &config);

/// What a machine has, for checkMachine().
struct MachineFacts {
    std::vector<int> allowedCores;     ///< CPU numbers the process may use
    std::vector<std::string> gpuUuids; ///< GPUs it may use, in CUDA's order
};

/// Why this machine can't run the config (of a run on several nodes: configOfNode()): "needs 8 devices of 1 core, has 2". Empty when it can.
[[nodiscard]] std::vector<Error> checkMachine(const RunConfig &config, const MachineFacts &facts);

/// The names of the run's devices in config order: "cpu:0", or the GPU's UUID when `facts` knows it, else "cuda:0".
[[nodiscard]] std::vector<std::string> deviceNames(const RunConfig &config, const MachineFacts &facts);

/// JSON object with every key (devices as a list, numbers as numbers, absent optionals as null).
[[nodiscard]] std::string toJson(const RunConfig &config);
/// From such an object; missing keys keep their default. Unknown keys and wrong types are all reported,
/// each with the key, the line in `text` and the nearest valid key or value.
[[nodiscard]] tl::expected<RunConfig, std::vector<Error>> runConfigFromJson(std::string_view text);

/// The arguments that make lockstep-trainer run this config (only what differs from the default, and method).
[[nodiscard]] std::vector<std::string> toArguments(const RunConfig &config);

} // namespace lockstep
