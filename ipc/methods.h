// SPDX-License-Identifier: MIT
#pragma once
// The ways to train, one row each: what a method is called, how it is drawn, where it may run, what it sends and reports.
// A new method is an enumerator and a row here, a class in trainer/strategies, and its line in
// trainer/strategies/make_strategy.cpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/phases.h"

namespace lockstep {

enum class Method : std::uint8_t { Baseline, Dp, Ddp, PsSync, PsAsync, Pipeline };

/// What ranks send each other in a step. K: bytes of all gradients; N: ranks.
enum class Traffic : std::uint8_t {
    None,
    Ring,   ///< all-reduce: each rank sends 2(N-1)/N·K to the next one
    Server, ///< each rank sends K to rank 0 and gets the sum back: 2(N-1)·K in all, through rank 0's link
    Push,   ///< each rank sends K to the servers and gets the parameters back, whenever it is ready; as many bytes
    Stages  ///< each rank sends its activations to the next one and their gradients to the one before
};

/// Whether what ranks send are gradients.
[[nodiscard]] constexpr bool sendsGradients(Traffic traffic) {
    return traffic != Traffic::None && traffic != Traffic::Stages;
}

/// The part of a step in which each of S stages of a pipeline has nothing to do, with M micro-batches, where all stages take equally long
/// and messages no time: (S-1)/(M+S-1), with GPipe as with 1F1B. Source: Huang et al., "GPipe", NeurIPS 2019, section 2.3.
[[nodiscard]] constexpr double bubbleOf(int stages, int microBatches) {
    return double(stages - 1) / double(microBatches + stages - 1);
}

/// A short list whose unused places are empty.
using Words = std::array<std::string_view, 8>;

struct MethodSpec {
    Method id;
    std::string_view name;     ///< in configs, recipes and flags: "ps-sync"
    std::string_view title;    ///< in a run's name, before the number of devices: "server" of "server on 2 devices"
    std::string_view label;    ///< beside a tick box: "Server"
    std::string_view longName; ///< "parameter server"; empty: the name says it
    std::string_view about;    ///< how it trains, after the name: "with one process a device"
    std::string_view color;    ///< of its lines and bars; colour-blind safe (Okabe-Ito)
    bool severalDevices;       ///< false: one device, whatever is there
    bool processPerDevice;     ///< each device is a rank of its own, and a backend carries the gradients
    bool splitsModel; ///< devices share out the model's layers, and each sees the whole batch; false: the batch
    Traffic traffic;
    std::string_view notOnGpus;   ///< why it can't train on GPUs; empty: it can
    std::string_view notRecorded; ///< why a CUDA graph can't hold its step; empty: it can
    Words keys;                   ///< keys of RunConfig that mean something only for the methods that name them
    Words phases;                 ///< what it reports besides the phases of a baseline
};

inline constexpr std::array methodTable{
    MethodSpec{.id = Method::Baseline,
               .name = "baseline",
               .title = "baseline",
               .label = "Baseline",
               .longName = "",
               .about = "on one device",
               .color = "#6B7280",
               .severalDevices = false,
               .processPerDevice = false,
               .splitsModel = false,
               .traffic = Traffic::None,
               .notOnGpus = "",
               .notRecorded = "",
               .keys = {"cuda_graph", "accumulate"},
               .phases = {}},
    MethodSpec{.id = Method::Dp,
               .name = "dp",
               .title = "DP",
               .label = "DP",
               .longName = "data parallel, one process",
               .about = "in one process with one thread a device",
               .color = "#E69F00",
               .severalDevices = true,
               .processPerDevice = false,
               .splitsModel = false,
               .traffic = Traffic::None,
               .notOnGpus = "",
               .notRecorded = "dp's devices wait for each other on the host, which a CUDA graph can't hold",
               .keys = {"dp_replicas"},
               .phases = {phase::exposed, phase::scatter, phase::replicate, phase::parallelForward, phase::gather,
                          phase::lossOnDevice0, phase::parallelBackward, phase::reduce}},
    MethodSpec{
        .id = Method::Ddp,
        .name = "ddp",
        .title = "DDP",
        .label = "DDP",
        .longName = "distributed data parallel",
        .about = "with one process a device",
        .color = "#0072B2",
        .severalDevices = true,
        .processPerDevice = true,
        .splitsModel = false,
        .traffic = Traffic::Ring,
        .notOnGpus = "",
        .notRecorded = "ddp's all-reduces are not recorded in a CUDA graph yet",
        .keys = {"backend", "bucket_mb", "interface", "all_reduce", "compress_gradients", "accumulate", "shards"},
        .phases = {phase::exposed, phase::comm, phase::wait}},
    MethodSpec{.id = Method::PsSync,
               .name = "ps-sync",
               .title = "server",
               .label = "Server",
               .longName = "parameter server",
               .about = "as ddp, but all gradients go through rank 0",
               .color = "#8B5CF6",
               .severalDevices = true,
               .processPerDevice = true,
               .splitsModel = false,
               .traffic = Traffic::Server,
               .notOnGpus = "ps-sync sends gradients between CPU devices, and not between GPUs yet",
               .notRecorded = "ps-sync's gradients go through the host, which a CUDA graph can't hold",
               .keys = {"backend", "bucket_mb", "interface", "compress_gradients", "accumulate", "shards"},
               .phases = {phase::exposed, phase::comm, phase::wait}},
    MethodSpec{.id = Method::PsAsync,
               .name = "ps-async",
               .title = "async server",
               .label = "Async server",
               .longName = "asynchronous parameter server",
               .about = "as ps-sync, but the server updates the parameters with each rank's gradients as they arrive",
               .color = "#CC79A7",
               .severalDevices = true,
               .processPerDevice = true,
               .splitsModel = false,
               .traffic = Traffic::Push,
               .notOnGpus = "ps-async sends gradients between CPU devices, and not between GPUs yet",
               .notRecorded = "ps-async's gradients go through the host, which a CUDA graph can't hold",
               .keys = {"backend", "interface", "servers", "server_devices", "max_staleness", "accumulate"},
               .phases = {phase::exposed, phase::comm, phase::wait}},
    MethodSpec{.id = Method::Pipeline,
               .name = "pipeline",
               .title = "pipeline",
               .label = "Pipeline",
               .longName = "model parallel",
               .about = "with the model's layers shared out among the devices, through which parts of a batch pass",
               .color = "#009E73",
               .severalDevices = true,
               .processPerDevice = true,
               .splitsModel = true,
               .traffic = Traffic::Stages,
               .notOnGpus = "pipeline sends activations between CPU devices, and not between GPUs yet",
               .notRecorded = "pipeline's activations go through the host, which a CUDA graph can't hold",
               .keys = {"backend", "interface", "stages", "micro_batches", "pipeline_schedule", "stage_layers"},
               .phases = {phase::exposed, phase::comm, phase::wait}},
};

[[nodiscard]] constexpr const MethodSpec &specOf(Method method) {
    return methodTable[static_cast<std::size_t>(method)];
}
/// The method of that name; nothing for a name that is not in the table (a script may say any).
[[nodiscard]] const MethodSpec *findMethod(std::string_view name);

[[nodiscard]] constexpr std::string_view toString(Method method) {
    return specOf(method).name;
}
/// One process a device, whose gradients a backend carries.
[[nodiscard]] constexpr bool isDistributed(Method method) {
    return specOf(method).processPerDevice;
}
/// The same of a method's name; false for a name that is not in the table.
[[nodiscard]] bool isDistributed(std::string_view method);
/// One process that drives several devices, each with a replica of the model.
[[nodiscard]] constexpr bool hasReplicas(const MethodSpec &method) {
    return method.severalDevices && !method.processPerDevice;
}

/// Whether a key of RunConfig means anything for a row: no row of the table claims it for itself, or this one does.
template <class Row, std::size_t N>
[[nodiscard]] constexpr bool knowsKey(const std::array<Row, N> &table, const Row &row, std::string_view key) {
    const auto claims = [key](const Row &one) { return std::ranges::find(one.keys, key) != one.keys.end(); };
    return claims(row) || std::ranges::none_of(table, claims);
}
/// The same of a method.
[[nodiscard]] bool knowsKey(Method method, std::string_view key);

/// The first method with that traffic.
[[nodiscard]] const MethodSpec &methodOf(Traffic traffic);
/// What ranks send each other, in a sentence without its full stop.
[[nodiscard]] std::string_view sentenceOf(Traffic traffic);

/// "#0072B2". Scripts may name methods that are not in the table: they get the baseline's grey.
[[nodiscard]] std::string_view methodColorName(std::string_view method);

/// "baseline, dp (data parallel, one process), … or ps-sync (parameter server)"
[[nodiscard]] std::string methodsInWords();

} // namespace lockstep
