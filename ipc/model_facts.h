// SPDX-License-Identifier: MIT
#pragma once
// A run's model is a row of ipc/models.h or a file: NAME.pt, a TorchScript module, with NAME.json beside it, which says what the
// module takes. Whoever must know something of a model asks here. docs/own-model.md describes the file.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "ipc/models.h"

namespace lockstep {

inline constexpr std::string_view modelFileEnding = ".pt";

/// Whether RunConfig::model is the path of a file, and not the name of a row.
[[nodiscard]] bool isModelFile(std::string_view model);
/// What people read: a row's name, or a file's name without its folders.
[[nodiscard]] std::string modelTitle(std::string_view model);
/// Bytes of a description at most: room for 1,000 layers with names of 100 characters, each on a line of its own.
inline constexpr std::uint64_t largestDescription = 128 * 1024;
/// The path of the description beside a file: "net.json" of "net.pt", in the same folder.
[[nodiscard]] std::string descriptionOf(std::string_view file);

/// A file's path from the root on, if it was relative to the folder; a row's name stays.
[[nodiscard]] std::string modelFrom(const std::string &folder, const std::string &model);

/// What is known of a model before it is loaded.
struct ModelFacts {
    std::string title;
    SampleSpec sample;
    std::optional<std::int64_t> parameters; ///< absent: unknown
    int layers = 1;                         ///< that a pipeline can share out
    std::vector<std::string> layerNames;    ///< of a file: its submodules that are the layers; empty: it is one layer
};

[[nodiscard]] ModelFacts factsOf(const ModelSpec &model);
/// Nothing: no row has that name (a script may say any), or the file's description is not on this machine. An error: the
/// description is wrong. Its `where` is "model". A description is read again only once it was written again. Thread safe.
[[nodiscard]] Result<std::optional<ModelFacts>> modelFacts(std::string_view model);

/// Reads such a description; `title` names the model and `shown` the text in errors.
[[nodiscard]] Result<ModelFacts> modelFactsFromJson(std::string_view text, std::string title, const std::string &shown);

/// Whether the trained parameters are saved as a folder, and not as one file of safetensors: bert's, as Hugging Face has them.
[[nodiscard]] bool savesFolder(std::string_view model);

/// Of a model in a file: why this machine can't read the file or its description. What the description says is validate()'s.
[[nodiscard]] Result<void> checkModelFile(std::string_view model);

struct RunConfig;
/// Whether a folder, bert_dir, says what sizes the model has, and not its row: layers and parameters are then unknown here.
[[nodiscard]] bool hasSizesOfFolder(const RunConfig &config);
/// Why the stages of `devices` devices in pipelines can't share out the model's layers; all mistakes at once.
[[nodiscard]] std::vector<Error> checkLayers(const RunConfig &config, int devices, const ModelFacts &model);

/// Why the model can't train on the data set.
[[nodiscard]] std::optional<Error> mismatch(const ModelFacts &model, const DataSetSpec &dataSet);

} // namespace lockstep
