// SPDX-License-Identifier: MIT
#include "ipc/models.h"

#include <algorithm>

#include "ipc/model_facts.h"
#include "ipc/run_folder.h"
#include "ipc/thousands.h"

namespace lockstep {
namespace {

/// "a, b or c"
template <class Rows, class Text> std::string anyOf(const Rows &rows, Text textOf) {
    std::string text;
    for (const auto &row : rows)
        text += (text.empty() ? "" : &row == &rows.back() ? " or " : ", ") + textOf(row);
    return text;
}

/// What the keys of RunConfig mean for any model in a file: texts become tokens by the vocabulary in bert_dir.
constexpr ModelSpec anyFile{.name = "", .about = "", .sample = {}, .parameters = 0, .layers = 0, .keys = {"bert_dir"}};

} // namespace

const DataSetSpec *findDataSet(std::string_view name) {
    const auto *const found = std::ranges::find(dataSetTable, name, &DataSetSpec::name);
    return found == dataSetTable.end() ? nullptr : found;
}

const ModelSpec *findModel(std::string_view name) {
    const auto *const found = std::ranges::find(modelTable, name, &ModelSpec::name);
    return found == modelTable.end() ? nullptr : found;
}

bool knowsKey(std::string_view model, std::string_view key) {
    const ModelSpec *found = isModelFile(model) ? &anyFile : findModel(model);
    return !found || knowsKey(modelTable, *found, key);
}

std::string inWords(const SampleSpec &sample) {
    if (sample.values == Values::Text)
        return "texts";
    const int last = sample.dimensions() - 1;
    if (sample.values == Values::Tokens)
        return "sequences of " + std::to_string(sample.count()) + " tokens";
    const int channels = last == 2 ? sample.sizes.front() : 1;
    return "images of " + std::to_string(sample.sizes.at(std::size_t(last - 1))) + " × " +
           std::to_string(sample.sizes.at(std::size_t(last))) + " pixels" +
           (channels > 1 ? " in " + std::to_string(channels) + " channels" : "");
}

std::string modelNames() {
    return anyOf(modelTable, [](const ModelSpec &model) { return std::string(model.name); });
}

std::string dataSetNames() {
    return anyOf(dataSetTable, [](const DataSetSpec &set) { return std::string(set.name); });
}

std::string modelsInWords() {
    return anyOf(modelTable, [](const ModelSpec &model) {
        return std::string(model.name) + " (" + thousands(model.parameters) + " parameters" +
               (model.about.empty() ? "" : ", ") + std::string(model.about) + ")";
    });
}

std::string dataSetsInWords() {
    return anyOf(dataSetTable, [](const DataSetSpec &set) {
        if (set.trainSamples == 0)
            return std::string(set.name) + " (a file of " + inWords(set.sample) + " with a label each)";
        return std::string(set.name) + " (" + thousands(set.trainSamples) + " " + inWords(set.sample) + ", " +
               std::to_string(set.sample.classes) + " classes)";
    });
}

std::string packagedDataFolder(std::string_view dataSet) {
    return "/usr/share/datasets/" + std::string(dataSet);
}

std::string downloadedDataFolder(std::string_view dataSet) {
    return dataHome() + "/data/" + std::string(dataSet);
}

std::string bertFolderOf(const std::string &given) {
    return given.empty() ? downloadedDataFolder(bertDownload) : given;
}

} // namespace lockstep
