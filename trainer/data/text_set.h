// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "trainer/data/data_set.h"
#include "trainer/data/tokenizer_rules.h"

namespace lockstep::trainer {

struct TextOptions {
    std::string file = {}; ///< CSV or TSV, or a folder that holds texts.csv; empty: where get-data puts the set
    std::string textColumn = {}, labelColumn = {}; ///< empty: those of the set's row
    std::string vocabulary = {};                   ///< text of a vocab.txt
    std::string vocabularyFile = {};               ///< its name, for errors
    TokenizerRules rules = {};                     ///< of the vocabulary's tokenizer
    std::size_t maxTokens = 128;                   ///< longer texts are cut
    std::int64_t trainLimit = 0, testLimit = 0;    ///< 0: all; N: the first N of the split
};

/// Texts with a label each, as tokens. Files are often sorted by label: records come in the order of torch.randperm with seed 0, and
/// every tenth of them is a test sample. A class is a different label, in UTF-8, in alphabetical order.
/// Errors name the file and what is wrong with it; all are BadArgument.
[[nodiscard]] Result<DataSets> loadTexts(const DataSetSpec &spec, const TextOptions &options);

} // namespace lockstep::trainer
