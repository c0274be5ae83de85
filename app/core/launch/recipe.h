#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/run_config.h"

namespace lockstep::core {

/// How a recipe names a run's devices.
struct DeviceRequest {
    enum class Kind { List, Count, All };
    Kind kind = Kind::List; ///< List: config.devices as it stands; Count: the first `count`; All: all there are
    int count = 1;
    bool operator==(const DeviceRequest &) const = default;
};

/// One line of a recipe: a config to be run `repeats` times.
struct RunSpec {
    std::string name; ///< empty: runTitle(config) once devices are known
    RunConfig config; ///< base with this run's own keys set
    DeviceRequest devices;
    bool autoDevice = false; ///< "device":"auto": cuda where GPUs are, else cpu
    std::string note = {};   ///< shown with the run
    /// "worker_cores":"auto": a core for each loading worker, none of them a device's.
    bool autoWorkerCores = false;
    /// "first_node":true: of the nodes that the runs are put on only the first, with all of its devices chosen there: what
    /// the others add shows beside it. Without nodes it says nothing.
    bool firstNode = false;
    /// A script in lockstep-trainer's place, word by word, with placeholders (ipc/command_template.h); the config is then
    /// what the recipe claims of it. Empty: lockstep-trainer.
    std::vector<std::string> command = {};
    bool operator==(const RunSpec &) const = default;
};

struct PublishedEpoch {
    int epoch = 1;
    std::optional<double> loss, durationS;
    bool operator==(const PublishedEpoch &) const = default;
};

/// One published result, as printed. Absent: not printed.
struct PublishedRun {
    std::string name;   ///< "DDP ×8"
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
    std::string setting;   ///< "10 epochs, random affine, batch 32 …"
    std::string reference; ///< name of the run that speed-ups are computed from
    std::vector<PublishedRun> runs;
    std::vector<std::string> contradictions; ///< what the printed figures say against each other
    bool operator==(const Published &) const = default;
};

/// What --quick changes.
struct QuickVariant {
    std::int64_t trainSamples = 12800;
    int epochs = 3;
    int repeats = 3;
    bool operator==(const QuickVariant &) const = default;
};

struct Recipe {
    std::string name;     ///< lenet-dp-vs-ddp
    std::string title;    ///< "DP against DDP, LeNet"
    std::string summary;  ///< one line
    std::string question; ///< what it answers
    std::vector<RunSpec> runs;
    std::string reference; ///< name of the run all speed-ups are measured from; empty: the first
    int repeats = 1;
    /// Repeats take turns, each round in an order drawn from this: the same seed, the same order. 0: as the runs are listed.
    std::uint64_t orderSeed = 1;
    std::vector<std::string> varies; ///< keys in which the runs differ on purpose, besides method and devices
    std::optional<QuickVariant> quick;
    std::optional<Published> published;
    std::vector<std::string> notes; ///< shown beside the result, e.g. what differs from the publication
    bool operator==(const Recipe &) const = default;
};

/// Every mistake at once; each Error's `where` is "FILE:LINE: key" and names the nearest valid key or value.
[[nodiscard]] tl::expected<Recipe, std::vector<Error>> recipeFromJson(std::string_view text,
                                                                      std::string_view file = {});
/// The file form; recipeFromJson(toJson(r)) == r.
[[nodiscard]] std::string toJson(const Recipe &recipe);

/// Names of the built-in ones (Qt resource :/recipes), in the order they are shown.
[[nodiscard]] std::vector<std::string> builtInRecipes();
/// A built-in name, a saved one (recipe_shelf.h) or the path of a file, whose folder is filled in for {recipe_folder}; an
/// unknown name is answered with the nearest one.
[[nodiscard]] tl::expected<Recipe, std::vector<Error>> loadRecipe(std::string_view nameOrFile);
/// A recipe of configs chosen freely, in that order; the first baseline (else the first) is the reference.
[[nodiscard]] Recipe recipeFromConfigs(std::string title, const std::vector<RunConfig> &configs, int repeats);

/// Several errors as one text, a line each.
[[nodiscard]] std::string joinErrors(const std::vector<Error> &errors);

} // namespace lockstep::core
