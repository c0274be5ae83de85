// SPDX-License-Identifier: MIT
// The field table: one row an option. Flags, recipe keys, form fields and JSON all come from here.
#include <algorithm>
#include <array>

#include "ipc/backend_rule.h"
#include "ipc/field_values_detail.h"
#include "ipc/list_in_words.h"
#include "ipc/model_facts.h"
#include "ipc/run_config.h"

namespace lockstep {

namespace {

using namespace field;

template <class Row, std::size_t N> constexpr auto namesOf(const std::array<Row, N> &table) {
    std::array<std::string_view, N> names;
    std::ranges::transform(table, names.begin(), &Row::name);
    return names;
}

constexpr auto methods = namesOf(methodTable);
constexpr std::array<std::string_view, 2> replicaModes{"each-step", "persistent"};
constexpr auto modelNames = namesOf(modelTable);
constexpr auto datasets = namesOf(dataSetTable);
constexpr std::array<std::string_view, 2> deviceKinds{"cpu", "cuda"};
constexpr std::array<std::string_view, 3> backends{"auto", "gloo", "nccl"};
constexpr std::array<std::string_view, 2> allReduces{"backend", "ring"};
constexpr std::array<std::string_view, 3> gradientFormats{"none", "fp16", "bf16"};
constexpr std::array<std::string_view, 3> shardings{"even", "measured", "adaptive"};
constexpr std::array<std::string_view, 2> pipelineSchedules{"1f1b", "gpipe"};
constexpr std::array<std::string_view, 3> nonfinitePolicies{"stop", "continue", "rollback"};
constexpr std::array<std::string_view, 2> lrRules{"none", "linear"};
constexpr std::array<std::string_view, 2> lrSchedules{"constant", "linear"};
constexpr std::array<std::string_view, 3> paddings{"bucket", "longest", "full"};
constexpr std::array<std::string_view, 3> optimizers{"sgd", "adam", "adamw"};
constexpr std::array<std::string_view, 3> loaders{"item", "batch", "device"};
constexpr std::array<std::string_view, 2> augmentations{"none", "affine"};
constexpr std::array<std::string_view, 2> schedulings{"other", "batch"};
constexpr std::array<std::string_view, 3> precisions{"fp32", "bf16", "fp64"};

struct MethodField {
    static std::string get(const RunConfig &config) { return std::string(toString(config.method)); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        const MethodSpec *found = findMethod(text);
        if (!found)
            return refuse("method", text, joined(methods));
        config.method = found->id;
        return {};
    }
};

/// The name of a row, or the path of a file.
struct ModelField {
    static std::string get(const RunConfig &config) { return config.model; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        const bool clean = std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
        if (!findModel(text) && !(clean && isModelFile(text)))
            return refuse("model", text, joined(modelNames) + ", or a TorchScript file like net.pt");
        config.model = text;
        return {};
    }
};

/// What a row may say besides its text.
struct Traits {
    FieldEffect effect = FieldEffect::Step;
    bool (*applies)(const RunConfig &) = nullptr;
    std::string (*inEffect)(const RunConfig &) = nullptr;
    bool perProcess = false;
    bool fixedOnResume = false;
    std::string_view fileEnding = {};
};

template <class F>
FieldSpec row(std::string_view key, std::string_view label, std::string_view help, FieldType type, FieldGroup group,
              Traits traits = {}, std::vector<std::string_view> choices = {}) {
    return FieldSpec{.key = key,
                     .label = label,
                     .help = help,
                     .type = type,
                     .group = group,
                     .choices = std::move(choices),
                     .fileEnding = traits.fileEnding,
                     .perProcess = traits.perProcess,
                     .fixedOnResume = traits.fixedOnResume,
                     .effect = traits.effect,
                     .applies = traits.applies,
                     .inEffect = traits.inEffect,
                     .get = &F::get,
                     .set = &F::set};
}

template <class F, class Choices>
FieldSpec choiceRow(std::string_view key, std::string_view label, std::string_view help, FieldGroup group,
                    const Choices &choices, Traits traits = {}) {
    return row<F>(key, label, help, FieldType::Choice, group, traits, {choices.begin(), choices.end()});
}

// When a field applies, and what its value amounts to.

bool copiesToGpu(const RunConfig &config) {
    return anyGpu(config) && config.loader != "device";
}

bool anyCpu(const RunConfig &config) {
    const auto isCpu = [&](const NodePlace &node) {
        return (node.device.empty() ? config.device : node.device) == "cpu";
    };
    return config.nodes.empty() ? config.device == "cpu" : std::ranges::any_of(config.nodes, isCpu);
}

bool hasWorkers(const RunConfig &config) {
    return config.workers > 0;
}

bool hasImages(const RunConfig &config) {
    const DataSetSpec *dataSet = findDataSet(config.dataset);
    return !dataSet || dataSet->sample.values == Values::Pixels;
}

bool hasTexts(const RunConfig &config) {
    const DataSetSpec *dataSet = findDataSet(config.dataset);
    return !dataSet || dataSet->sample.values == Values::Text;
}

bool hasSeveralDevices(const RunConfig &config) {
    return deviceCount(config) > 1;
}

bool decays(const RunConfig &config) {
    return config.weightDecay > 0;
}

bool usesMomentum(const RunConfig &config) {
    return config.optimizer == "sgd";
}

std::string globalBatchText(const RunConfig &config) {
    return std::to_string(globalBatch(config));
}

std::string inAnotherField(const RunConfig &) {
    return {};
}

std::string effectiveLrText(const RunConfig &config) {
    return realText(effectiveLr(config, deviceCount(config)));
}

/// Empty on a GPU, where the host's threads are torch's own choice.
std::string threadsText(const RunConfig &config) {
    return config.threads > 0 ? std::to_string(config.threads)
           : anyCpu(config)   ? std::to_string(config.coresPerDevice)
                              : std::string();
}

std::string backendText(const RunConfig &config) {
    return backendInEffect(config).name;
}

/// Which cores they are is a plan's choice; that they have some of their own is a setting.
std::string ownCoresText(const RunConfig &config) {
    return config.workerCores.empty() ? "" : "own";
}

std::string writtenText(const RunConfig &config) {
    return writesCheckpoints(config) ? "written" : "";
}

using C = RunConfig;
constexpr std::int64_t million = 1'000'000, billion = 1'000'000'000;

/// "baseline on one device; dp in one process …"
std::string methodsExplained() {
    std::string text;
    for (const MethodSpec &method : methodTable)
        text += (text.empty() ? "" : "; ") + std::string(method.name) + " " + std::string(method.about);
    return text;
}

/// "ddp and ps-sync": the methods that a key means something for.
std::string methodsWith(std::string_view key) {
    std::vector<std::string> names;
    for (const MethodSpec &method : methodTable)
        if (knowsKey(method.id, key))
            names.emplace_back(method.name);
    return listInWords(names);
}

std::vector<FieldSpec> mainRows() {
    using enum FieldGroup;
    static const std::string methodHelp = "How to train: " + methodsExplained() + ".",
                             modelHelp = "Network to train: " + modelsInWords() +
                                         "; or the path of a TorchScript module, NAME.pt, which NAME.json beside it "
                                         "describes and whose own parameters are the first ones.",
                             dataSetHelp = "Samples to train on: " + dataSetsInWords() + ".";
    return {
        choiceRow<MethodField>("method", "Method", methodHelp, Main, methods,
                               {.effect = FieldEffect::Means, .fixedOnResume = true}),
        choiceRow<Choice<"dp_replicas", &C::dpReplicas, replicaModes>>(
            "dp_replicas", "DP replicas",
            "When dp copies the parameters to its devices: before every step, as torch's DataParallel does, or once.",
            Advanced, replicaModes, {.effect = FieldEffect::Means, .fixedOnResume = true}),
        choiceRow<ModelField>("model", "Model", modelHelp, Main, modelNames,
                              {.fixedOnResume = true, .fileEnding = modelFileEnding}),
        choiceRow<Choice<"dataset", &C::dataset, datasets>>("dataset", "Data set", dataSetHelp, Main, datasets,
                                                            {.fixedOnResume = true}),
        row<Text<"data_dir", &C::dataDir>>(
            "data_dir", "Data folder",
            "Folder with the four IDX files, plain or .gz, or a CSV or TSV file of texts; empty: where the "
            "distribution's package or get-data puts them.",
            FieldType::Text, Data, {.effect = FieldEffect::None}),
        row<Integer<"train_samples", &C::trainSamples, 0, billion>>(
            "train_samples", "Training samples", "Train on the first N samples only; 0: all of them.",
            FieldType::Integer, Data, {.effect = FieldEffect::Length, .fixedOnResume = true}),
        row<Integer<"test_samples", &C::testSamples, 0, billion>>(
            "test_samples", "Test samples",
            "Evaluate on the first N test samples only; 0: all of them. Evaluating is no part of the training time.",
            FieldType::Integer, Data, {.effect = FieldEffect::Beside}),
        row<Text<"bert_dir", &C::bertDir>>(
            "bert_dir", "BERT folder",
            "Folder of Hugging Face with config.json, vocab.txt and model.safetensors; empty: what get-data bert got.",
            FieldType::Text, Data, {.applies = hasTexts, .fixedOnResume = true}),
        row<Text<"text_column", &C::textColumn>>("text_column", "Column of the text",
                                                 "Column of the file that holds the text; empty: the data set's own.",
                                                 FieldType::Text, Data, {.applies = hasTexts, .fixedOnResume = true}),
        row<Text<"label_column", &C::labelColumn>>(
            "label_column", "Column of the label",
            "Column of the file that holds the label; empty: the data set's own.", FieldType::Text, Data,
            {.applies = hasTexts, .fixedOnResume = true}),
        row<Integer<"max_tokens", &C::maxTokens, 2, million>>(
            "max_tokens", "Longest text (tokens)", "Texts of more tokens are cut to that many.", FieldType::Integer,
            Data, {.applies = hasTexts, .fixedOnResume = true}),
        choiceRow<Choice<"padding", &C::padding, paddings>>(
            "padding", "Padding",
            "What makes a batch's texts equally long: bucket puts texts of similar length together and pads to the "
            "longest; longest pads batches as they come; full pads to the longest text allowed.",
            Data, paddings, {.applies = hasTexts, .fixedOnResume = true}),
    };
}

std::vector<FieldSpec> deviceRows() {
    using enum FieldGroup;
    static const std::string backendHelp = "What carries the gradients of " + methodsWith("backend") +
                                           ": gloo, nccl (GPUs only), or auto, which chooses what fits the devices.";
    return {
        choiceRow<Choice<"device", &C::device, deviceKinds>>(
            "device", "Device kind", "What to train on: cpu, where a device is a block of cores, or cuda.", Devices,
            deviceKinds),
        row<DevicesField>("devices", "Devices",
                          "Which devices: numbers of CPU blocks or GPUs, or GPU UUIDs, joined by commas.",
                          FieldType::List, Devices, {.effect = FieldEffect::Means}),
        row<Integer<"cores_per_device", &C::coresPerDevice, 1, 4096>>(
            "cores_per_device", "Cores per CPU device",
            "Cores in each CPU device; the same in all runs that are compared.", FieldType::Integer, Devices,
            {.applies = anyCpu}),
        choiceRow<Choice<"backend", &C::backend, backends>>("backend", "Backend", backendHelp, Devices, backends,
                                                            {.effect = FieldEffect::Means, .inEffect = backendText}),
        row<Text<"interface", &C::interface>>(
            "interface", "Network interface",
            "Interface for the rendezvous and gloo, such as eth0; empty: loopback on one node.", FieldType::Text,
            Devices, {.effect = FieldEffect::Route}),
        row<NodesField>("nodes", "Nodes",
                        "Nodes of the run as HOST%INTERFACE:DEVICES joined by ';', like hostA%eth0:0,1;hostB%bond0:0; "
                        "empty: this machine alone.",
                        FieldType::Text, Devices, {.effect = FieldEffect::Means}),
        row<Integer<"threads", &C::threads, 0, 4096>>("threads", "Threads per device",
                                                      "Threads inside one operator, per device; 0: one per core.",
                                                      FieldType::Integer, Devices, {.inEffect = threadsText}),
    };
}

std::vector<FieldSpec> trainingRows() {
    using enum FieldGroup;
    return {
        row<Integer<"epochs", &C::epochs, 1, million>>("epochs", "Epochs", "Passes over the training samples.",
                                                       FieldType::Integer, Main, {.effect = FieldEffect::Length}),
        row<Integer<"batch_size", &C::batchSize, 1, billion>>(
            "batch_size", "Batch size (global)",
            "Samples per step over all devices together; each device takes an equal share.", FieldType::Integer, Main,
            {.inEffect = globalBatchText, .fixedOnResume = true}),
        row<Integer<"batch_per_device", &C::batchPerDevice, 0, billion>>(
            "batch_per_device", "Batch size per device",
            "Samples per step on each device (weak scaling), instead of the global batch size; 0: not used.",
            FieldType::Integer, Training, {.inEffect = inAnotherField, .fixedOnResume = true}),
        row<Real<"lr", &C::lr, Range::Positive>>("lr", "Learning rate", "Step size of the optimizer.", FieldType::Real,
                                                 Main, {.inEffect = effectiveLrText, .fixedOnResume = true}),
        choiceRow<Choice<"lr_rule", &C::lrRule, lrRules>>(
            "lr_rule", "Learning rate rule",
            "none keeps the learning rate; linear multiplies it by the devices, in pipeline by the pipelines, that "
            "share out a batch.",
            Training, lrRules, {.inEffect = inAnotherField, .fixedOnResume = true}),
        choiceRow<Choice<"lr_schedule", &C::lrSchedule, lrSchedules>>(
            "lr_schedule", "Learning rate schedule",
            "constant keeps the learning rate; linear brings it down to 0 by the last step.", Training, lrSchedules,
            {.fixedOnResume = true}),
        row<Integer<"warmup_steps", &C::warmupSteps, 0, billion>>(
            "warmup_steps", "Warm-up steps", "First steps, in which the learning rate grows from 0; 0: none.",
            FieldType::Integer, Training, {.fixedOnResume = true}),
        row<Real<"clip_grad_norm", &C::clipGradNorm, Range::NotNegative>>(
            "clip_grad_norm", "Clip gradients to",
            "Largest norm of all gradients taken together; above it they are scaled down before the optimizer. 0: "
            "no limit.",
            FieldType::Real, Training, {.fixedOnResume = true}),
        row<Real<"momentum", &C::momentum, Range::ZeroToOne>>(
            "momentum", "Momentum", "Momentum of sgd, 0 to 1; the other optimizers ignore it.", FieldType::Real,
            Training, {.applies = usesMomentum, .fixedOnResume = true}),
        row<Real<"weight_decay", &C::weightDecay, Range::NotNegative>>(
            "weight_decay", "Weight decay", "Weight decay of the optimizer; 0: none.", FieldType::Real, Training,
            {.fixedOnResume = true}),
        row<Switch<"decay_biases", &C::decayBiases>>(
            "decay_biases", "Decay biases",
            "Apply weight decay to biases and to LayerNorm's parameters, too, as PyTorch's optimizers do.",
            FieldType::Switch, Training, {.applies = decays, .fixedOnResume = true}),
        choiceRow<Choice<"optimizer", &C::optimizer, optimizers>>("optimizer", "Optimizer",
                                                                  "How gradients change the parameters.", Training,
                                                                  optimizers, {.fixedOnResume = true}),
        row<OptionalReal<"dropout", &C::dropout, Range::ZeroToBelowOne>>(
            "dropout", "Dropout", "Share of activations dropped, 0 to below 1; empty: the model's own; 0: off.",
            FieldType::Real, Training, {.fixedOnResume = true}),
        row<SeedField>("seed", "Seed", "Start of every random sequence: weights, order, augmentation.",
                       FieldType::Integer, Training, {.effect = FieldEffect::Chance, .fixedOnResume = true}),
    };
}

std::vector<FieldSpec> dataRows() {
    using enum FieldGroup;
    static const std::string bucketHelp = "Gradients " + methodsWith("bucket_mb") + " send at a time, in MiB.",
                             accumulateHelp =
                                 "Parts into which a device of " + methodsWith("accumulate") +
                                 " cuts its share of a batch. It computes them one after another and adds their "
                                 "gradients up, so that only one part's activations are in memory at a time; ranks "
                                 "exchange gradients once a batch.",
                             compressHelp = "Format in which " + methodsWith("compress_gradients") +
                                            " send gradients and add them up: fp16 and bf16 halve the bytes of fp32 "
                                            "and round; none sends them as they are.",
                             shardsHelp = "How " + methodsWith("shards") +
                                          " share a batch out among the devices: even gives each as many samples; "
                                          "measured times the first steps and gives a slower device fewer, so that all "
                                          "are ready at the same time; adaptive also does so after each epoch.";
    return {
        row<Integer<"workers", &C::workers, 0, 256>>(
            "workers", "Loading threads per process",
            "Threads that load batches ahead, in each process; 0: load inside the training loop.", FieldType::Integer,
            Data),
        row<Text<"worker_cores", &C::workerCores>>(
            "worker_cores", "Cores of the loading threads",
            "Cores the loading threads run on, like 2-3; empty: the process's own.", FieldType::Text, Data,
            {.applies = hasWorkers, .inEffect = ownCoresText}),
        choiceRow<Choice<"loader", &C::loader, loaders>>("loader", "Loader",
                                                         "item works a sample at a time, as PyTorch's DataLoader does; "
                                                         "batch makes whole batches; device keeps the data "
                                                         "on the device and augments there.",
                                                         Data, loaders),
        choiceRow<Choice<"augment", &C::augment, augmentations>>(
            "augment", "Augmentation", "affine turns, shifts and scales each image at random; none leaves it.", Data,
            augmentations, {.fixedOnResume = true}),
        row<Switch<"pin_memory", &C::pinMemory>>("pin_memory", "Pinned memory",
                                                 "Keep batches in page-locked memory, for faster copies to a GPU.",
                                                 FieldType::Switch, Data, {.applies = copiesToGpu}),
        row<Switch<"non_blocking", &C::nonBlocking>>("non_blocking", "Copies don't block",
                                                     "Copy batches to a GPU while it computes.", FieldType::Switch,
                                                     Data, {.applies = copiesToGpu}),
        choiceRow<Choice<"precision", &C::precision, precisions>>(
            "precision", "Precision",
            "Number format of arithmetic and parameters; bf16 is autocast: parameters stay in fp32.", Training,
            precisions, {.fixedOnResume = true}),
        row<Switch<"channels_last", &C::channelsLast>>(
            "channels_last", "Channels last",
            "Keep images and convolutions in NHWC order, which some devices do faster.", FieldType::Switch, Training,
            {.applies = hasImages}),
        row<Switch<"cuda_graph", &C::cudaGraph>>(
            "cuda_graph", "CUDA graph",
            "Record a step's work on the GPU once and launch it as a whole from then on, which spares the host most of "
            "a small network's step; baseline on a GPU only.",
            FieldType::Switch, Training, {.applies = anyGpu}),
        row<Real<"bucket_mb", &C::bucketMb, Range::Positive>>("bucket_mb", "Bucket size (MiB)", bucketHelp,
                                                              FieldType::Real, Advanced),
        choiceRow<Choice<"all_reduce", &C::allReduce, allReduces>>(
            "all_reduce", "All-reduce",
            "What adds ddp's gradients up: the backend's own all-reduce, or a ring whose sends and receives a trace "
            "shows one "
            "by one (CPU devices).",
            Advanced, allReduces),
        choiceRow<Choice<"compress_gradients", &C::compressGradients, gradientFormats>>(
            "compress_gradients", "Compress gradients", compressHelp, Advanced, gradientFormats,
            {.fixedOnResume = true}),
        row<Integer<"accumulate", &C::accumulate, 1, million>>("accumulate", "Accumulate", accumulateHelp,
                                                               FieldType::Integer, Training),
        choiceRow<Choice<"shards", &C::shards, shardings>>(
            "shards", "Shards", shardsHelp, Training, shardings,
            {.effect = FieldEffect::Means, .applies = hasSeveralDevices}),
        row<Integer<"servers", &C::servers, 1, 4096>>("servers", "Servers",
                                                      "How many ranks, from rank 0 on, each hold and update a share of "
                                                      "the parameters of ps-async, besides training.",
                                                      FieldType::Integer, Advanced, {.effect = FieldEffect::Means}),
        row<Integer<"server_devices", &C::serverDevices, 0, 4096>>(
            "server_devices", "Server devices",
            "How many devices, the last ones, only hold and update the parameters of ps-async, a share each; 0: the "
            "first "
            "ranks do it besides training.",
            FieldType::Integer, Advanced, {.effect = FieldEffect::Means}),
        row<Integer<"max_staleness", &C::maxStaleness, -1, million>>(
            "max_staleness", "Largest staleness",
            "How many updates of other ranks ps-async lets come between a rank's reading of the parameters and its own "
            "update; "
            "0: all ranks update together, as in ps-sync; -1: no limit.",
            FieldType::Integer, Advanced, {.effect = FieldEffect::Means, .fixedOnResume = true}),
        row<Integer<"stages", &C::stages, 0, 4096>>("stages", "Stages",
                                                    "How many devices share out the model under pipeline; 0: all of "
                                                    "them. With fewer, several pipelines share out "
                                                    "the batch: 2 of 4 devices are two pipelines of two stages.",
                                                    FieldType::Integer, Advanced, {.effect = FieldEffect::Means}),
        row<Integer<"micro_batches", &C::microBatches, 1, million>>(
            "micro_batches", "Micro-batches",
            "Parts into which a pipeline cuts its share of a batch, so that its stages work at the same time; more of "
            "them idle less, "
            "and each "
            "computes less efficiently.",
            FieldType::Integer, Advanced, {.effect = FieldEffect::Means}),
        choiceRow<Choice<"pipeline_schedule", &C::pipelineSchedule, pipelineSchedules>>(
            "pipeline_schedule", "Pipeline schedule",
            "1f1b alternates forward and backward passes and keeps fewer activations; gpipe does all forward passes "
            "first.",
            Advanced, pipelineSchedules, {.effect = FieldEffect::Means}),
        row<Text<"stage_layers", &C::stageLayers>>(
            "stage_layers", "Layers of each stage",
            "How many layers each stage of pipeline computes, like 2,3; empty: by how long they take.", FieldType::Text,
            Advanced, {.effect = FieldEffect::Means}),
        choiceRow<Choice<"scheduling", &C::scheduling, schedulings>>(
            "scheduling", "Scheduling",
            "Linux's policy for the ranks: other is the usual one; under batch, a rank that wakes up does not preempt "
            "other programs.",
            Advanced, schedulings),
    };
}

std::vector<FieldSpec> fileRows() {
    using enum FieldGroup;
    return {
        row<Text<"init", &C::init>>("init", "First parameters",
                                    "safetensors file with the parameters to start from; empty: random by the seed, or "
                                    "those in the model's file.",
                                    FieldType::Text, Files, {.effect = FieldEffect::Chance}),
        row<Text<"save_final", &C::saveFinal>>("save_final", "Save parameters to",
                                               "safetensors file for the trained parameters, with bert a folder that "
                                               "Hugging Face loads; empty: not saved.",
                                               FieldType::Text, Files, {.effect = FieldEffect::None}),
        row<Text<"checkpoint_dir", &C::checkpointDir>>(
            "checkpoint_dir", "Checkpoint folder",
            "Folder for a checkpoint after each epoch; empty: none, or with restarts the run's own folder.",
            FieldType::Text, Files, {.effect = FieldEffect::Beside, .inEffect = writtenText}),
        row<Integer<"max_restarts", &C::maxRestarts, 0, mostRestarts>>(
            "max_restarts", "Restarts after a failure",
            "How often all ranks are started again after one of them failed, from the newest checkpoint.",
            FieldType::Integer, Advanced, {.effect = FieldEffect::None}),
        choiceRow<Choice<"on_nonfinite", &C::onNonfinite, nonfinitePolicies>>(
            "on_nonfinite", "If the loss is NaN",
            "When a loss is NaN or infinite: stop; continue; or rollback: go on with the parameters of the last good "
            "checkpoint, without the batches since.",
            Advanced, nonfinitePolicies, {.effect = FieldEffect::None}),
        row<Real<"hang_after", &C::hangAfter, Range::NotNegative>>(
            "hang_after", "Hang after (s)",
            "Raise an alert when ranks wait in a collective for another rank for so many seconds; 0: after five median "
            "steps, at least 10 s, or five minutes where they may be busy.",
            FieldType::Real, Advanced, {.effect = FieldEffect::None}),
        row<Switch<"resume", &C::resume>>("resume", "Resume",
                                          "Resume from the newest intact checkpoint in the checkpoint folder.",
                                          FieldType::Switch, Files, {.effect = FieldEffect::Start}),
        row<Text<"init_method", &C::initMethod>>(
            "init_method", "Rendezvous", "How the ranks find each other: env://, tcp://HOST:PORT or file:///PATH.",
            FieldType::Text, Advanced, {.effect = FieldEffect::None, .perProcess = true}),
        row<Switch<"oversubscribe", &C::oversubscribe>>(
            "oversubscribe", "Share cores",
            "Let several devices share a core, for tests; the run is marked not comparable.", FieldType::Switch,
            Advanced),
        row<Integer<"trace", &C::trace, 0, 10000>>("trace", "Trace steps",
                                                   "Record the first N steps as a trace for Perfetto; 0: none.",
                                                   FieldType::Integer, Advanced, {.effect = FieldEffect::Beside}),
        row<Text<"frames", &C::frames>>(
            "frames", "Frames",
            "Where the frames go: unix:PATH, tcp://HOST:PORT, a file, a folder, or - for stdout; empty: "
            "LOCKSTEP_FRAMES, or nowhere.",
            FieldType::Text, Files, {.effect = FieldEffect::None, .perProcess = true}),
        row<Text<"summary", &C::summary>>("summary", "Summary",
                                          "JSON file for the summary at the end, or - for stdout; empty: none.",
                                          FieldType::Text, Files, {.effect = FieldEffect::None, .perProcess = true}),
    };
}

} // namespace

bool appliesTo(const FieldSpec &field, const RunConfig &config) {
    return knowsKey(config.method, field.key) && knowsKey(config.model, field.key) &&
           (!field.applies || field.applies(config));
}

std::string effectiveValue(const FieldSpec &field, const RunConfig &config) {
    if (!appliesTo(field, config))
        return field.type == FieldType::Switch ? "false" : "";
    return field.inEffect ? field.inEffect(config) : field.get(config);
}

double effectiveLr(const RunConfig &config, int devices) {
    return config.lrRule == "linear" ? config.lr * batchParts(config, devices) : config.lr;
}

int sentNumberBytes(const RunConfig &config) {
    if (config.compressGradients != "none" && knowsKey(config.method, "compress_gradients"))
        return 2;
    return config.precision == "fp64" ? 8 : 4;
}

double lrShare(const RunConfig &config, std::int64_t step, std::int64_t steps) {
    if (step < config.warmupSteps)
        return double(step) / double(config.warmupSteps);
    if (config.lrSchedule == "constant")
        return 1;
    const double left = double(steps - step), whole = double(std::max<std::int64_t>(1, steps - config.warmupSteps));
    return std::max(0.0, left / whole);
}

std::span<const FieldSpec> runConfigFields() {
    static const std::vector<FieldSpec> fields = [] {
        std::vector<FieldSpec> all;
        for (auto rows : {mainRows(), deviceRows(), trainingRows(), dataRows(), fileRows()})
            all.insert(all.end(), rows.begin(), rows.end());
        return all;
    }();
    return fields;
}

} // namespace lockstep
