// SPDX-License-Identifier: MIT
#pragma once
// A folder as Hugging Face's transformers keeps a BERT: config.json, vocab.txt, model.safetensors, and tokenizer_config.
#include <map>
#include <string>
#include <vector>

#include "ipc/error.h"
#include "trainer/data/safetensors.h"
#include "trainer/data/tokenizer_rules.h"
#include "trainer/models/bert.h"

namespace lockstep::trainer {

struct BertFolder {
    std::string path; ///< empty: none was read
    BertConfig config;
    TensorFile weights; ///< as in the file
};

/// Reads and checks sizes and weights. All errors are BadArgument and say what is missing or not supported.
[[nodiscard]] Result<BertFolder> readBertFolder(const std::string &path);

/// The sizes and rates in its config.json by their keys there, as text. Errors are readBertFolder()'s.
[[nodiscard]] Result<std::map<std::string, std::string>> bertConfigFacts(const std::string &folder);

/// Copies the weights into the model by their names, with or without "bert." before them, LayerNorm's also by its older names gamma
/// and beta. A classification head that the file lacks stays random; anything else that is missing is an error. A head's rows are sorted by
/// `classes`, the labels of the model's classes, where the folder names the same ones in another order.
[[nodiscard]] Result<void> fillWithWeights(Bert &model, const BertFolder &folder,
                                           const std::vector<std::string> &classes);
/// What to say of a head whose labels are not `classes`, and whose rows are therefore used as they stand; empty: nothing.
[[nodiscard]] std::string headNotice(const BertFolder &folder, const std::vector<std::string> &classes);

/// Writes `state` as a folder that transformers loads. `source` gives vocabulary and settings; `classes` name the classes.
[[nodiscard]] Result<void> writeBertFolder(const std::string &path, const std::string &source,
                                           const std::vector<std::pair<std::string, torch::Tensor>> &state,
                                           const std::vector<std::string> &classes);

/// What a folder says about its vocabulary.
struct VocabularyFile {
    std::string path; ///< of vocab.txt
    std::string text;
    TokenizerRules rules; ///< of its tokenizer_config
};
/// Checks that it is no longer than any real one, that it fits the folder's config.json, that the model has positions for `maxTokens`, and
/// that texts are read here as the folder's tokenizer reads them.
[[nodiscard]] Result<VocabularyFile> readVocabulary(const std::string &folder, std::int64_t maxTokens);

} // namespace lockstep::trainer
