// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/width_goal.h"
#include "ipc/run_config.h"
#include "ipc/script_claims.h"

namespace lockstep::core {

/// How a recipe names a run's devices.
struct DeviceRequest {
    enum class Kind { List, Count, All };
    Kind kind = Kind::List; ///< List: config.devices; Count: the first `count`; All: all of the machine
    int count = 1;
    bool operator==(const DeviceRequest &) const = default;
};

/// One run of a recipe: a config to be run `repeats` times.
struct RunSpec {
    std::string name; ///< empty: runTitle(config) once devices are known
    RunConfig config; ///< the base with this run's keys set
    DeviceRequest devices;
    bool autoDevice = false; ///< "device":"auto": cuda if there are GPUs, else cpu
    std::string note = {};   ///< shown with the run
    /// "worker_cores":"auto": one core per loading worker, none of them a device's.
    bool autoWorkerCores = false;
    /// "first_node":true: uses only the first of the runs' nodes, with all of its chosen devices, to compare
    /// with runs on all nodes. No effect without nodes.
    bool firstNode = false;
    /// A script that replaces lockstep-trainer, word by word, with placeholders (ipc/command_template.h); the config is
    /// then what the recipe claims about it. Empty: lockstep-trainer.
    std::vector<std::string> command = {};
    ScriptClaims claims = {}; ///< about that script
    bool operator==(const RunSpec &) const = default;
};

struct PublishedEpoch {
    int epoch = 1;
    std::optional<double> loss, durationS;
    bool operator==(const PublishedEpoch &) const = default;
};

/// One published result, as printed. Absent: not in the publication.
struct PublishedRun {
    std::string name;   ///< "DDP on 8 devices"
    std::string method; ///< baseline | dp | ddp
    int devices = 1;
    std::string backend;        ///< empty: unknown
    std::optional<int> workers; ///< per process
    std::optional<double> timeS;
    std::string timeKind; ///< "sum of epoch durations", "total running time", "kind unknown"
    std::optional<double> printedSpeedUp;
    std::optional<double> testAccuracy; ///< 0..1
    std::vector<PublishedEpoch> epochs;
    std::vector<double> perClassAccuracy; ///< 0..1
    std::string utilisation;              ///< as printed: "8 % on GPU 0, 1 % on the others"
    std::string note;
    bool operator==(const PublishedRun &) const = default;
};

struct Published {
    std::string machine;   ///< "8 × H100"
    std::string dataset;   ///< a key of the data set table (ipc/models.h); empty: unknown
    std::string setting;   ///< "10 epochs, random affine, batch 32 …"
    std::string reference; ///< name of the run that speed-ups are computed from
    std::vector<PublishedRun> runs;
    std::vector<std::string> contradictions; ///< contradictions between the printed figures
    bool operator==(const Published &) const = default;
};

/// What --quick changes.
struct QuickVariant {
    std::int64_t trainSamples = 12800;
    std::int64_t testSamples = 0; ///< 0: as many as without --quick
    int epochs = 3;
    int repeats = 3;
    bool operator==(const QuickVariant &) const = default;
};

struct Recipe {
    std::string name;     ///< lenet-dp-vs-ddp
    std::string title;    ///< "DP against DDP, LeNet"
    std::string summary;  ///< one line
    std::string question; ///< the question that it answers
    std::vector<RunSpec> runs;
    std::string reference; ///< name of the reference run for speed-ups; empty: the first
    int repeats = 1;
    /// Seed for the order of the rounds of repeats (round_order.h). 0: as listed. Absent: each experiment has its own seed.
    std::optional<std::uint64_t> orderSeed;
    std::optional<WidthGoal> untilWidth; ///< rounds are added to `repeats` until intervals are so narrow
    std::vector<std::string> varies; ///< keys in which the runs differ on purpose, in addition to method and devices
    std::optional<QuickVariant> quick;
    std::optional<Published> published;
    std::vector<std::string> notes; ///< shown with the result, e.g. what differs from the publication
    bool operator==(const Recipe &) const = default;
};

/// Reports every mistake at once. Each Error's `where` is "FILE:LINE: key"; it suggests the nearest valid key or value.
[[nodiscard]] tl::expected<Recipe, std::vector<Error>> recipeFromJson(std::string_view text,
                                                                      std::string_view file = {});
/// The file form; recipeFromJson(toJson(r)) == r.
[[nodiscard]] std::string toJson(const Recipe &recipe);

/// Names of the built-in recipes (Qt resource :/recipes), in the order they are shown.
[[nodiscard]] std::vector<std::string> builtInRecipes();
/// Loads a built-in recipe, a saved one (recipe_shelf.h) or a file, whose folder replaces {recipe_folder}. The error
/// for an unknown name suggests the nearest one.
[[nodiscard]] tl::expected<Recipe, std::vector<Error>> loadRecipe(std::string_view nameOrFile);
/// A recipe of these configs, in that order; the first baseline (else the first) is the reference.
[[nodiscard]] Recipe recipeFromConfigs(std::string title, const std::vector<RunConfig> &configs, int repeats);

/// Several errors as one text, one per line.
[[nodiscard]] std::string joinErrors(const std::vector<Error> &errors);

} // namespace lockstep::core
