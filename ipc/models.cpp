// SPDX-License-Identifier: MIT
#include "ipc/models.h"

#include <algorithm>

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

std::string samplesInWords(const SampleSpec &sample) {
    return inWords(sample) + (sample.classes > 0 ? " in " + std::to_string(sample.classes) + " classes" : "");
}

bool takes(const ModelSpec &model, const SampleSpec &sample) {
    return model.sample == sample || (model.sample.values == Values::Text && sample.values == Values::Text);
}

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
    const ModelSpec *found = findModel(model);
    return !found || knowsKey(modelTable, *found, key);
}

std::optional<Error> mismatch(const ModelSpec &model, const DataSetSpec &dataSet) {
    if (takes(model, dataSet.sample))
        return {};
    std::string fitting;
    for (const ModelSpec &other : modelTable)
        if (takes(other, dataSet.sample))
            fitting += (fitting.empty() ? "" : " or ") + std::string(other.name);
    return Error::badArgument(std::string(model.name) + " takes " + samplesInWords(model.sample) + ", and " +
                                  std::string(dataSet.name) + " holds " + samplesInWords(dataSet.sample),
                              fitting.empty() ? "use another data set" : "use " + fitting + ", or another data set",
                              "model");
}

std::string inWords(const SampleSpec &sample) {
    if (sample.values == Values::Text)
        return "texts";
    const int last = sample.dimensions() - 1;
    if (sample.values == Values::Tokens)
        return "sequences of " + std::to_string(sample.count()) + " tokens";
    return "images of " + std::to_string(sample.sizes.at(std::size_t(last - 1))) + " × " +
           std::to_string(sample.sizes.at(std::size_t(last))) + " pixels";
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

} // namespace lockstep
