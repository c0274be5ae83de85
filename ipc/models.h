// SPDX-License-Identifier: MIT
#pragma once
// What is trained, and on what: a row a data set, and a row a model.
// A new model is a row here, a class in trainer/models, and its line in trainer/models/model.cpp (docs/own-model.md shows one). A model
// may also be a file, without a row: ipc/model_facts.h. A new data set is a row here; one that can be downloaded also has its files in
// resources/datasets.json.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/methods.h"

namespace lockstep {

/// What the values of a sample are.
enum class Values : std::uint8_t {
    Pixels, ///< 0 to 255; the loader makes normalised real numbers of them
    Tokens, ///< 0 to 255; a model gets them as whole numbers
    Text ///< letters; a model gets the tokens that its own vocabulary has for them, as many as the longest text of a batch
};

/// What one sample is, and how many classes it may be of. A model trains on data sets with such samples.
struct SampleSpec {
    Values values;
    std::array<int, 3>
        sizes;   ///< outermost first, 0 after the last; of an image: channels, rows, columns; of a text: none
    int classes; ///< 0: as many as the data set's files hold

    [[nodiscard]] constexpr int dimensions() const {
        int count = 0;
        for (const int size : sizes)
            count += size > 0 ? 1 : 0;
        return count;
    }
    /// Values of a sample.
    [[nodiscard]] constexpr int count() const {
        int product = 1;
        for (const int size : sizes)
            product *= size > 0 ? size : 1;
        return product;
    }
    bool operator==(const SampleSpec &) const = default;
};

inline constexpr SampleSpec grayImages{.values = Values::Pixels, .sizes = {1, 28, 28}, .classes = 10};
/// What a model of texts takes: it has as many classes as the data.
inline constexpr SampleSpec anyTexts{.values = Values::Text, .sizes = {}, .classes = 0};
/// The samples that affine augmentation can turn, shift and scale.
inline constexpr const SampleSpec &affineSamples = grayImages;

struct DataSetSpec {
    std::string_view name;  ///< in configs, recipes and flags: "fashion-mnist"
    std::string_view title; ///< "Fashion-MNIST"
    SampleSpec sample;
    std::int64_t trainSamples; ///< in the whole training set; 0: as many as its file holds
    std::int64_t testSamples;  ///< likewise, in the test set
    double mean, std;          ///< of the training set's pixels scaled to 0..1; what normalising uses
    std::string_view inputs;   ///< its IDX files, after "train-" and "t10k-"; of texts: the column with the text
    std::string_view targets;  ///< likewise; of texts: the column with the label
    std::string_view package;  ///< the distribution's; empty: there is none
    std::string_view download; ///< what lockstepctl get-data calls it (resources/datasets.json); empty: it can't be had
};

/// Of texts: every tenth record is a test sample (trainer/data/text_set.h says in which order).
inline constexpr std::int64_t testTextEvery = 10;
/// What get-data calls the texts and weights that bert takes when no folder is named, and its file of texts.
inline constexpr std::string_view bertDownload = "bert", textsFile = "texts.csv";

inline constexpr std::array dataSetTable{
    DataSetSpec{.name = "fashion-mnist",
                .title = "Fashion-MNIST",
                .sample = grayImages,
                .trainSamples = 60'000,
                .testSamples = 10'000,
                .mean = 0.2860,
                .std = 0.3530,
                .inputs = "images-idx3-ubyte",
                .targets = "labels-idx1-ubyte",
                .package = "dataset-fashion-mnist",
                .download = "fashion-mnist"},
    DataSetSpec{.name = "mnist",
                .title = "MNIST",
                .sample = grayImages,
                .trainSamples = 60'000,
                .testSamples = 10'000,
                .mean = 0.1307,
                .std = 0.3081,
                .inputs = "images-idx3-ubyte",
                .targets = "labels-idx1-ubyte",
                .package = "",
                .download = "mnist"},
    DataSetSpec{.name = "sentiment",
                .title = "Sentiment of short texts",
                .sample = {.values = Values::Text, .sizes = {}, .classes = 3},
                .trainSamples = 34'343,
                .testSamples = 3'815,
                .mean = 0,
                .std = 1,
                .inputs = "text",
                .targets = "sentiment",
                .package = "",
                .download = bertDownload},
    DataSetSpec{.name = "text",
                .title = "Texts of one's own",
                .sample = anyTexts,
                .trainSamples = 0,
                .testSamples = 0,
                .mean = 0,
                .std = 1,
                .inputs = "text",
                .targets = "label",
                .package = "",
                .download = ""},
};

struct ModelSpec {
    std::string_view name;   ///< in configs, recipes and flags: "lenet"
    std::string_view about;  ///< where it is known from; empty: the name says it
    SampleSpec sample;       ///< what it takes
    std::int64_t parameters; ///< numbers that are trained; a test counts them in the model itself
    int layers;              ///< that a pipeline can share out; a test counts them, too
    Words keys;              ///< keys of RunConfig that mean something only for the models that name them
};

inline constexpr std::array modelTable{
    ModelSpec{.name = "lenet", .about = "", .sample = grayImages, .parameters = 61'706, .layers = 5, .keys = {}},
    ModelSpec{.name = "convnet",
              .about = "PyTorch's MNIST example",
              .sample = grayImages,
              .parameters = 1'199'882,
              .layers = 4,
              .keys = {"dropout"}},
    ModelSpec{.name = "mlp",
              .about = "one hidden layer of 128",
              .sample = grayImages,
              .parameters = 101'770,
              .layers = 2,
              .keys = {}},
    ModelSpec{.name = "bert",
              .about = "6 layers of 384 unless bert_dir names others",
              .sample = anyTexts,
              .parameters = 22'714'371,
              .layers = 9,
              .keys = {"dropout", "bert_dir"}},
};

/// The row of that name; nothing for a name that is not in the table (a script may say any).
[[nodiscard]] const DataSetSpec *findDataSet(std::string_view name);
[[nodiscard]] const ModelSpec *findModel(std::string_view name);

/// Whether a key of RunConfig means anything for a model: a row's name, or the path of a file.
[[nodiscard]] bool knowsKey(std::string_view model, std::string_view key);

/// "images of 28 × 28 pixels", "images of 28 × 28 pixels in 3 channels", "sequences of 16 tokens" or "texts"
[[nodiscard]] std::string inWords(const SampleSpec &sample);
/// "lenet or convnet"
[[nodiscard]] std::string modelNames();
[[nodiscard]] std::string dataSetNames();
/// "lenet (61,706 parameters) or …"
[[nodiscard]] std::string modelsInWords();
/// "fashion-mnist (60,000 images of 28 × 28 pixels, 10 classes) or …"
[[nodiscard]] std::string dataSetsInWords();

/// Where the distribution's package puts a data set, and where a download goes.
[[nodiscard]] std::string packagedDataFolder(std::string_view dataSet);
[[nodiscard]] std::string downloadedDataFolder(std::string_view dataSet);
/// Where the weights, the vocabulary and its settings of a run's BERT lie: `given`, or where lockstepctl get-data bert puts them.
[[nodiscard]] std::string bertFolderOf(const std::string &given);

} // namespace lockstep
