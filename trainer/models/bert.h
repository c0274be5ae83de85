// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// The sizes of a BERT, as a folder's config.json has them; here those of MiniLM's six layers.
struct BertConfig {
    std::int64_t vocabulary = 30'522, hidden = 384, layers = 6, heads = 12, intermediate = 1536, positions = 512,
                 tokenTypes = 2, padding = 0; ///< padding: the token that fills a text up
    double layerNormEps = 1e-12, hiddenDropout = 0.1, attentionDropout = 0.1, initializerRange = 0.02;
    std::optional<double> classifierDropout = {}; ///< absent: hiddenDropout
    std::vector<std::string> labels = {}; ///< id2label: what each row of a trained head stands for; empty: not named
};

struct BertEmbeddings;
struct BertLayer;

/// BERT with a classification head, as transformers' BertForSequenceClassification: the same names, numbers and dropouts, with
/// GELU by the error function. Takes int64 tokens [n, length], filled up with the padding token → logits [n, classes]. The padding
/// token within a text is one of its tokens.
/// Source: Devlin et al. 2018, arXiv 1810.04805; transformers' modeling_bert.
class Bert final : public Model {
public:
    static constexpr int usualClasses = 3;
    /// All parameters are random, as transformers draws them for a config. `dropout` replaces all rates.
    Bert(const BertConfig &config, int classes, std::optional<double> dropout);

    void prepareFor(const torch::Tensor &tokens) override;
    [[nodiscard]] const BertConfig &config() const { return m_config; }
    [[nodiscard]] int classes() const { return m_classes; }

private:
    [[nodiscard]] torch::Tensor embed(const torch::Tensor &tokens);
    [[nodiscard]] torch::Tensor encode(const BertLayer &layer, const torch::Tensor &input) const;
    [[nodiscard]] torch::Tensor attend(const BertLayer &layer, const torch::Tensor &input) const;
    void addModules();
    void addLayers();
    void drawParameters();

    BertConfig m_config;
    int m_classes;
    double m_hiddenDropout, m_attentionDropout, m_classifierDropout;
    std::shared_ptr<BertEmbeddings> m_embeddings;
    std::vector<std::shared_ptr<BertLayer>> m_encoder;
    torch::nn::Linear m_pooler = nullptr, m_classifier = nullptr;
    torch::Tensor
        m_attended; ///< bool [n, 1, 1, length] of the batch that passes: no padding; undefined where there is none
};

} // namespace lockstep::trainer
