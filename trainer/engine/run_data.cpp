// SPDX-License-Identifier: MIT
#include "trainer/engine/run_data.h"

#include "trainer/data/text_set.h"
#include "trainer/models/bert_folder.h"

namespace lockstep::trainer {
namespace {

Result<DataSets> loadRunTexts(const RunConfig &config, const DataSetSpec &spec) {
    const auto vocabulary = readVocabulary(bertFolderOf(config.bertDir), config.maxTokens);
    if (!vocabulary)
        return fail(vocabulary.error());
    return loadTexts(spec, {.file = config.dataDir,
                            .textColumn = config.textColumn,
                            .labelColumn = config.labelColumn,
                            .vocabulary = vocabulary->text,
                            .vocabularyFile = vocabulary->path,
                            .rules = vocabulary->rules,
                            .maxTokens = static_cast<std::size_t>(config.maxTokens),
                            .trainLimit = config.trainSamples,
                            .testLimit = config.testSamples});
}

} // namespace

Result<DataSets> loadRunData(const RunConfig &config) {
    if (const DataSetSpec *spec = findDataSet(config.dataset); spec && spec->sample.values == Values::Text)
        return loadRunTexts(config, *spec);
    return loadDataSets(config.dataset, config.dataDir, config.trainSamples, config.testSamples);
}

} // namespace lockstep::trainer
