// The field table: one row an option. Flags, recipe keys, form fields and JSON all come from here.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "ipc/run_config.h"

namespace lockstep {

namespace {

/// A key as a template argument, so that a plain function pointer knows its own name.
template <std::size_t N> struct Key {
    char text[N]{};
    constexpr Key(const char (&from)[N]) { std::copy_n(from, N, text); } // NOLINT(google-explicit-constructor)
    [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

tl::unexpected<Error> refuse(std::string_view key, std::string_view value, std::string expected) {
    std::string shown(value.substr(0, 60));
    for (char &c : shown)
        if (static_cast<unsigned char>(c) < 0x20)
            c = '?';
    return fail(
        Error::badArgument("\"" + shown + "\" is not allowed", "give " + std::move(expected), std::string(key)));
}

template <class T> bool parseWhole(std::string_view text, T &number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

template <Key K, auto Member, std::int64_t Low, std::int64_t High> struct Integer {
    static std::string get(const RunConfig &config) { return std::to_string(config.*Member); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        std::int64_t number = 0;
        if (!parseWhole(text, number) || number < Low || number > High)
            return refuse(K.view(), text, "a whole number from " + std::to_string(Low) + " to " + std::to_string(High));
        config.*Member = static_cast<std::remove_reference_t<decltype(config.*Member)>>(number);
        return {};
    }
};

enum class Range { Positive, NotNegative, ZeroToOne, ZeroToBelowOne };

bool holds(Range range, double number) {
    if (!std::isfinite(number))
        return false;
    switch (range) {
    case Range::Positive:
        return number > 0;
    case Range::NotNegative:
        return number >= 0;
    case Range::ZeroToOne:
        return number >= 0 && number <= 1;
    case Range::ZeroToBelowOne:
        return number >= 0 && number < 1;
    }
    return false;
}

std::string words(Range range) {
    switch (range) {
    case Range::Positive:
        return "a number above 0";
    case Range::NotNegative:
        return "a number from 0 on";
    case Range::ZeroToOne:
        return "a number from 0 to 1";
    case Range::ZeroToBelowOne:
        return "a number from 0 to below 1";
    }
    return "a number";
}

std::string realText(double number) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

template <Key K, auto Member, Range R> struct Real {
    static std::string get(const RunConfig &config) { return realText(config.*Member); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        double number = 0;
        if (!parseWhole(text, number) || !holds(R, number))
            return refuse(K.view(), text, words(R));
        config.*Member = number;
        return {};
    }
};

template <Key K, auto Member, Range R> struct OptionalReal {
    static std::string get(const RunConfig &config) {
        return config.*Member ? realText(*(config.*Member)) : std::string();
    }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (text.empty()) {
            config.*Member = std::nullopt;
            return {};
        }
        double number = 0;
        if (!parseWhole(text, number) || !holds(R, number))
            return refuse(K.view(), text, words(R) + ", or nothing");
        config.*Member = number;
        return {};
    }
};

template <Key K, auto Member> struct Switch {
    static std::string get(const RunConfig &config) { return config.*Member ? "true" : "false"; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        const bool on = text == "true" || text == "1" || text == "on" || text == "yes";
        if (!on && text != "false" && text != "0" && text != "off" && text != "no")
            return refuse(K.view(), text, "true or false");
        config.*Member = on;
        return {};
    }
};

std::string joined(std::span<const std::string_view> choices) {
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i)
        text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
    return text;
}

template <Key K, auto Member, const auto &Choices> struct Choice {
    static std::string get(const RunConfig &config) { return config.*Member; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (std::find(Choices.begin(), Choices.end(), text) == Choices.end())
            return refuse(K.view(), text, joined(Choices));
        config.*Member = text;
        return {};
    }
};

/// Any text without control characters: paths, addresses, interface names.
template <Key K, auto Member> struct Text {
    static std::string get(const RunConfig &config) { return config.*Member; }
    static Result<void> set(RunConfig &config, std::string_view text) {
        if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
            return refuse(K.view(), text, "a text without control characters");
        config.*Member = text;
        return {};
    }
};

constexpr std::array<std::string_view, 4> methods{"baseline", "dp", "ddp", "ps-sync"};
constexpr std::array<std::string_view, 2> replicaModes{"each-step", "persistent"};
constexpr std::array<std::string_view, 2> modelNames{"lenet", "convnet"};
constexpr std::array<std::string_view, 2> datasets{"fashion-mnist", "mnist"};
constexpr std::array<std::string_view, 2> deviceKinds{"cpu", "cuda"};
constexpr std::array<std::string_view, 3> backends{"auto", "gloo", "nccl"};
constexpr std::array<std::string_view, 2> lrRules{"none", "linear"};
constexpr std::array<std::string_view, 3> optimizers{"sgd", "adam", "adamw"};
constexpr std::array<std::string_view, 3> loaders{"item", "batch", "device"};
constexpr std::array<std::string_view, 2> augmentations{"none", "affine"};
constexpr std::array<std::string_view, 2> schedulings{"batch", "other"};
constexpr std::array<std::string_view, 3> precisions{"fp32", "bf16", "fp64"};

struct MethodField {
    static std::string get(const RunConfig &config) { return std::string(toString(config.method)); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        const auto found = std::find(methods.begin(), methods.end(), text);
        if (found == methods.end())
            return refuse("method", text, joined(methods));
        config.method = static_cast<Method>(found - methods.begin());
        return {};
    }
};

struct SeedField {
    static std::string get(const RunConfig &config) { return std::to_string(config.seed); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        std::uint64_t number = 0;
        if (!parseWhole(text, number))
            return refuse("seed", text, "a whole number from 0 to 18446744073709551615");
        config.seed = number;
        return {};
    }
};

bool isDeviceName(std::string_view text) {
    if (text.starts_with("GPU-") || text.starts_with("MIG-"))
        return text.size() > 4 && text.size() <= 128 && std::all_of(text.begin() + 4, text.end(), [](char c) {
                   return std::isxdigit(static_cast<unsigned char>(c)) || c == '-' || c == '/' ||
                          (c >= 'G' && c <= 'Z');
               });
    int index = 0;
    return parseWhole(text, index) && index >= 0 && text.front() != '-';
}

struct DevicesField {
    static std::string get(const RunConfig &config) {
        std::string text;
        for (const auto &device : config.devices)
            text += (text.empty() ? "" : ",") + device;
        return text;
    }
    static Result<void> set(RunConfig &config, std::string_view text) {
        std::vector<std::string> devices;
        for (std::size_t from = 0; from <= text.size();) {
            const std::size_t comma = std::min(text.find(',', from), text.size());
            std::string_view item = text.substr(from, comma - from);
            while (item.starts_with(' '))
                item.remove_prefix(1);
            while (item.ends_with(' '))
                item.remove_suffix(1);
            if (!isDeviceName(item))
                return refuse("devices", text, "device numbers or GPU UUIDs joined by commas, like 0,1");
            devices.emplace_back(item);
            from = comma + 1;
        }
        config.devices = std::move(devices);
        return {};
    }
};

struct NodesField {
    static std::string get(const RunConfig &config) { return toText(config.nodes); }
    static Result<void> set(RunConfig &config, std::string_view text) {
        auto nodes = nodesFromText(text);
        if (!nodes) {
            nodes.error().where = "nodes";
            return fail(nodes.error());
        }
        config.nodes = std::move(*nodes);
        return {};
    }
};

template <class F>
FieldSpec row(std::string_view key, std::string_view label, std::string_view help, FieldType type, FieldGroup group,
              std::vector<std::string_view> choices = {}, bool perProcess = false) {
    return FieldSpec{key, label, help, type, group, std::move(choices), perProcess, &F::get, &F::set};
}

template <class F, class Choices>
FieldSpec choiceRow(std::string_view key, std::string_view label, std::string_view help, FieldGroup group,
                    const Choices &choices) {
    return row<F>(key, label, help, FieldType::Choice, group, {choices.begin(), choices.end()});
}

using C = RunConfig;
constexpr std::int64_t million = 1'000'000, billion = 1'000'000'000;

std::vector<FieldSpec> mainRows() {
    using enum FieldGroup;
    return {
        choiceRow<MethodField>("method", "Method",
                               "How to train: baseline on one device, dp in one process with one thread a device, ddp "
                               "with one process a device, ps-sync likewise, with all gradients through rank 0.",
                               Main, methods),
        choiceRow<Choice<"dp_replicas", &C::dpReplicas, replicaModes>>(
            "dp_replicas", "DP replicas",
            "When dp copies the parameters to its devices: before every step, as torch's DataParallel does, or once.",
            Advanced, replicaModes),
        choiceRow<Choice<"model", &C::model, modelNames>>(
            "model", "Model", "Network to train: lenet (61,706 parameters) or convnet, PyTorch's MNIST example.", Main,
            modelNames),
        choiceRow<Choice<"dataset", &C::dataset, datasets>>(
            "dataset", "Data set", "Images to train on: 60,000 of 28 × 28 pixels, 10 classes.", Main, datasets),
        row<Text<"data_dir", &C::dataDir>>("data_dir", "Data folder",
                                           "Folder with the four IDX files, plain or .gz; empty: where the "
                                           "distribution's package puts them.",
                                           FieldType::Text, Data),
        row<Integer<"train_samples", &C::trainSamples, 0, billion>>("train_samples", "Training images",
                                                                    "Train on the first N images only; 0: all of them.",
                                                                    FieldType::Integer, Data),
    };
}

std::vector<FieldSpec> deviceRows() {
    using enum FieldGroup;
    return {
        choiceRow<Choice<"device", &C::device, deviceKinds>>(
            "device", "Device kind", "What to train on: cpu, where a device is a block of cores, or cuda.", Devices,
            deviceKinds),
        row<DevicesField>("devices", "Devices",
                          "Which devices: numbers of CPU blocks or GPUs, or GPU UUIDs, joined by commas.",
                          FieldType::List, Devices),
        row<Integer<"cores_per_device", &C::coresPerDevice, 1, 4096>>(
            "cores_per_device", "Cores a CPU device",
            "Cores in each CPU device; the same in all runs that are compared.", FieldType::Integer, Devices),
        choiceRow<Choice<"backend", &C::backend, backends>>(
            "backend", "Backend",
            "What carries the gradients of ddp and ps-sync: gloo, nccl (GPUs only), or auto, which takes what fits.",
            Devices, backends),
        row<Text<"interface", &C::interface>>(
            "interface", "Network interface",
            "Interface for the rendezvous and gloo, such as eth0; empty: loopback on one node.", FieldType::Text,
            Devices),
        row<NodesField>("nodes", "Nodes",
                        "Nodes of the run as HOST%INTERFACE:DEVICES joined by ';', like hostA%eth0:0,1;hostB%bond0:0; "
                        "empty: this machine alone.",
                        FieldType::Text, Devices),
        row<Integer<"threads", &C::threads, 0, 4096>>("threads", "Threads a device",
                                                      "Threads inside one operator, a device; 0: one a core of it.",
                                                      FieldType::Integer, Devices),
    };
}

std::vector<FieldSpec> trainingRows() {
    using enum FieldGroup;
    return {
        row<Integer<"epochs", &C::epochs, 1, million>>("epochs", "Epochs", "Passes over the training images.",
                                                       FieldType::Integer, Main),
        row<Integer<"batch_size", &C::batchSize, 1, billion>>(
            "batch_size", "Batch size (global)",
            "Images a step over all devices together; each device takes an equal share.", FieldType::Integer, Main),
        row<Integer<"batch_per_device", &C::batchPerDevice, 0, billion>>(
            "batch_per_device", "Batch size a device",
            "Images a step on each device (weak scaling), instead of the global batch size; 0: not used.",
            FieldType::Integer, Training),
        row<Real<"lr", &C::lr, Range::Positive>>("lr", "Learning rate", "Step size of the optimizer.", FieldType::Real,
                                                 Main),
        choiceRow<Choice<"lr_rule", &C::lrRule, lrRules>>(
            "lr_rule", "Learning rate rule", "none keeps the learning rate; linear multiplies it by the devices.",
            Training, lrRules),
        row<Real<"momentum", &C::momentum, Range::ZeroToOne>>(
            "momentum", "Momentum", "Momentum of sgd, 0 to 1; the other optimizers ignore it.", FieldType::Real,
            Training),
        row<Real<"weight_decay", &C::weightDecay, Range::NotNegative>>(
            "weight_decay", "Weight decay", "Weight decay of the optimizer; 0: none.", FieldType::Real, Training),
        choiceRow<Choice<"optimizer", &C::optimizer, optimizers>>(
            "optimizer", "Optimizer", "How gradients change the parameters.", Training, optimizers),
        row<OptionalReal<"dropout", &C::dropout, Range::ZeroToBelowOne>>(
            "dropout", "Dropout", "Share of activations dropped, 0 to below 1; empty: the model's own; 0: off.",
            FieldType::Real, Training),
        row<SeedField>("seed", "Seed", "Start of every random sequence: weights, order, augmentation.",
                       FieldType::Integer, Training),
    };
}

std::vector<FieldSpec> dataRows() {
    using enum FieldGroup;
    return {
        row<Integer<"workers", &C::workers, 0, 256>>(
            "workers", "Loading threads a process",
            "Threads that load batches ahead, in each process; 0: load inside the training loop.", FieldType::Integer,
            Data),
        row<Text<"worker_cores", &C::workerCores>>(
            "worker_cores", "Cores of the loading threads",
            "Cores the loading threads run on, like 2-3; empty: the process's own.", FieldType::Text, Data),
        choiceRow<Choice<"loader", &C::loader, loaders>>("loader", "Loader",
                                                         "item works an image at a time, as PyTorch's DataLoader does; "
                                                         "batch makes whole batches; device keeps the data "
                                                         "on the device and augments there.",
                                                         Data, loaders),
        choiceRow<Choice<"augment", &C::augment, augmentations>>(
            "augment", "Augmentation", "affine turns, shifts and scales each image at random; none leaves it.", Data,
            augmentations),
        row<Switch<"pin_memory", &C::pinMemory>>("pin_memory", "Pinned memory",
                                                 "Keep batches in page-locked memory, for faster copies to a GPU.",
                                                 FieldType::Switch, Data),
        row<Switch<"non_blocking", &C::nonBlocking>>(
            "non_blocking", "Copies don't block", "Copy batches to a GPU while it computes.", FieldType::Switch, Data),
        choiceRow<Choice<"precision", &C::precision, precisions>>(
            "precision", "Precision",
            "Number format of arithmetic and parameters; bf16 is autocast: parameters stay in fp32.", Training,
            precisions),
        row<Switch<"channels_last", &C::channelsLast>>(
            "channels_last", "Channels last",
            "Keep images and convolutions in NHWC order, which some devices do faster.", FieldType::Switch, Training),
        row<Switch<"cuda_graph", &C::cudaGraph>>(
            "cuda_graph", "CUDA graph",
            "Record a step's work on the GPU once and launch it as a whole from then on, which spares the host most of "
            "a small network's step; baseline on a GPU only.",
            FieldType::Switch, Training),
        row<Real<"bucket_mb", &C::bucketMb, Range::Positive>>("bucket_mb", "Bucket size (MiB)",
                                                              "Gradients ddp and ps-sync send at a time, in MiB.",
                                                              FieldType::Real, Advanced),
        choiceRow<Choice<"scheduling", &C::scheduling, schedulings>>(
            "scheduling", "Scheduling",
            "Linux's policy for the ranks: batch keeps a rank on its core while Gloo's threads wake; other is the "
            "usual one.",
            Advanced, schedulings),
    };
}

std::vector<FieldSpec> fileRows() {
    using enum FieldGroup;
    return {
        row<Text<"init", &C::init>>("init", "First parameters",
                                    "safetensors file with the parameters to start from; empty: random by the seed.",
                                    FieldType::Text, Files),
        row<Text<"save_final", &C::saveFinal>>("save_final", "Save parameters to",
                                               "safetensors file for the trained parameters; empty: not saved.",
                                               FieldType::Text, Files),
        row<Text<"checkpoint_dir", &C::checkpointDir>>("checkpoint_dir", "Checkpoint folder",
                                                       "Folder for a checkpoint after each epoch; empty: none.",
                                                       FieldType::Text, Files),
        row<Switch<"resume", &C::resume>>("resume", "Resume",
                                          "Go on from the newest good checkpoint in the checkpoint folder.",
                                          FieldType::Switch, Files),
        row<Text<"init_method", &C::initMethod>>(
            "init_method", "Rendezvous", "How the ranks find each other: env://, tcp://HOST:PORT or file:///PATH.",
            FieldType::Text, Advanced, {}, true),
        row<Switch<"oversubscribe", &C::oversubscribe>>(
            "oversubscribe", "Share cores",
            "Let several devices share a core, for tests; the run is marked not comparable.", FieldType::Switch,
            Advanced),
        row<Integer<"trace", &C::trace, 0, 10000>>("trace", "Trace steps",
                                                   "Record the first N steps as a trace for Perfetto; 0: none.",
                                                   FieldType::Integer, Advanced),
        row<Text<"frames", &C::frames>>(
            "frames", "Frames",
            "Where the frames go: unix:PATH, tcp://HOST:PORT, a file, a folder, or - for stdout; empty: "
            "LOCKSTEP_FRAMES, or nowhere.",
            FieldType::Text, Files, {}, true),
        row<Text<"summary", &C::summary>>("summary", "Summary",
                                          "JSON file for the summary at the end, or - for stdout; empty: none.",
                                          FieldType::Text, Files, {}, true),
    };
}

} // namespace

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
