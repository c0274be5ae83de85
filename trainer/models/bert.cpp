// SPDX-License-Identifier: MIT
#include "trainer/models/bert.h"

#include <cmath>
#include <limits>

namespace lockstep::trainer {

namespace nn = torch::nn;

namespace {

nn::LayerNorm layerNorm(const BertConfig &config) {
    return nn::LayerNorm(nn::LayerNormOptions({config.hidden}).eps(config.layerNormEps));
}

/// A linear layer whose sum with its block's input is normalised.
struct ResidualOutput : nn::Module {
    ResidualOutput(const BertConfig &config, std::int64_t inputs)
        : dense(register_module("dense", nn::Linear(inputs, config.hidden))),
          norm(register_module("LayerNorm", layerNorm(config))) {}
    nn::Linear dense;
    nn::LayerNorm norm;
};

/// A module of one child, for the names in between.
template <class Child>
std::shared_ptr<nn::Module> wrapped(const std::string &name, const std::shared_ptr<Child> &child) {
    auto outer = std::make_shared<nn::Module>();
    outer->register_module(name, child);
    return outer;
}

} // namespace

struct BertEmbeddings : nn::Module {
    explicit BertEmbeddings(const BertConfig &config)
        : words(register_module("word_embeddings",
                                nn::Embedding(nn::EmbeddingOptions(config.vocabulary, config.hidden)))),
          positions(register_module("position_embeddings", nn::Embedding(config.positions, config.hidden))),
          types(register_module("token_type_embeddings", nn::Embedding(config.tokenTypes, config.hidden))),
          norm(register_module("LayerNorm", layerNorm(config))) {}
    nn::Embedding words, positions, types;
    nn::LayerNorm norm;
};

/// One block of the encoder: attention among the tokens, then two linear layers at each.
struct BertLayer : nn::Module {
    explicit BertLayer(const BertConfig &config) {
        const auto attention = std::make_shared<nn::Module>(), inner = std::make_shared<nn::Module>();
        query = inner->register_module("query", nn::Linear(config.hidden, config.hidden));
        key = inner->register_module("key", nn::Linear(config.hidden, config.hidden));
        value = inner->register_module("value", nn::Linear(config.hidden, config.hidden));
        attention->register_module("self", inner);
        attended = attention->register_module("output", std::make_shared<ResidualOutput>(config, config.hidden));
        register_module("attention", attention);
        wide = nn::Linear(config.hidden, config.intermediate);
        register_module("intermediate", wrapped("dense", wide.ptr()));
        output = register_module("output", std::make_shared<ResidualOutput>(config, config.intermediate));
    }
    nn::Linear query = nullptr, key = nullptr, value = nullptr, wide = nullptr;
    std::shared_ptr<ResidualOutput> attended, output;
};

Bert::Bert(const BertConfig &config, int classes, std::optional<double> dropout)
    : m_config(config), m_classes(classes), m_hiddenDropout(dropout.value_or(config.hiddenDropout)),
      m_attentionDropout(dropout.value_or(config.attentionDropout)),
      m_classifierDropout(dropout.value_or(config.classifierDropout.value_or(config.hiddenDropout))) {
    addModules();
    addLayers();
    drawParameters();
}

/// In the order of transformers' state_dict.
void Bert::addModules() {
    const auto bert = std::make_shared<nn::Module>(), encoder = std::make_shared<nn::Module>();
    m_embeddings = bert->register_module("embeddings", std::make_shared<BertEmbeddings>(m_config));
    for (std::int64_t i = 0; i < m_config.layers; ++i)
        m_encoder.push_back(encoder->register_module(std::to_string(i), std::make_shared<BertLayer>(m_config)));
    bert->register_module("encoder", wrapped("layer", encoder));
    m_pooler = nn::Linear(m_config.hidden, m_config.hidden);
    bert->register_module("pooler", wrapped("dense", m_pooler.ptr()));
    register_module("bert", bert);
    m_classifier = register_module("classifier", nn::Linear(m_config.hidden, m_classes));
}

void Bert::addLayers() {
    addLayerAt("bert.embeddings", [this](const torch::Tensor &tokens) { return embed(tokens); });
    for (std::size_t i = 0; i < m_encoder.size(); ++i)
        addLayerAt("bert.encoder.layer." + std::to_string(i),
                   [this, i](const torch::Tensor &input) { return encode(*m_encoder[i], input); });
    addLayerAt("bert.pooler", [this](const torch::Tensor &input) { return torch::tanh(m_pooler(input.select(1, 0))); });
    addLayerAt("classifier",
               [this](const torch::Tensor &input) { return m_classifier(drop(input, m_classifierDropout)); });
}

void Bert::drawParameters() {
    const torch::NoGradGuard noGrad;
    for (const auto &item : named_parameters())
        if (item.value().dim() == 2)
            item.value().normal_(0, m_config.initializerRange);
        else if (!item.key().ends_with("LayerNorm.weight"))
            item.value().zero_();
    m_embeddings->words->weight[m_config.padding].zero_();
}

void Bert::prepareFor(const torch::Tensor &tokens) {
    m_attended = torch::Tensor();
    const auto isOther = tokens != m_config.padding;
    if (isOther.select(1, -1).all().item<bool>()) // all texts are as long as the batch is wide
        return;
    const auto othersFromHere = isOther.flip(1).cumsum(1).flip(1);
    m_attended = othersFromHere.gt(0).view({tokens.size(0), 1, 1, tokens.size(1)});
}

torch::Tensor Bert::embed(const torch::Tensor &tokens) {
    prepareFor(tokens);
    // One text has one type, so the first row serves all tokens; its gradient is a whole matrix, as PyTorch's is.
    const auto types = m_embeddings->types(torch::zeros({1}, tokens.options()));
    const auto positions = m_embeddings->positions(torch::arange(tokens.size(1), tokens.options()));
    auto padded = at::embedding(m_embeddings->words->weight, tokens, m_config.padding);
    return drop(m_embeddings->norm(padded + types + positions), m_hiddenDropout);
}

torch::Tensor Bert::encode(const BertLayer &layer, const torch::Tensor &input) const {
    const auto add = [this](const ResidualOutput &part, const torch::Tensor &from, const torch::Tensor &to) {
        nn::Linear dense = part.dense;
        nn::LayerNorm norm = part.norm;
        return norm(drop(dense(from), m_hiddenDropout) + to);
    };
    const auto attended = add(*layer.attended, attend(layer, input), input);
    nn::Linear wide = layer.wide;
    return add(*layer.output, torch::gelu(wide(attended)), attended);
}

torch::Tensor Bert::attend(const BertLayer &layer, const torch::Tensor &input) const {
    const std::int64_t n = input.size(0), length = input.size(1);
    const auto byHead = [&](nn::Linear linear) {
        return linear(input).view({n, length, m_config.heads, -1}).transpose(1, 2);
    };
    const auto query = byHead(layer.query), key = byHead(layer.key), value = byHead(layer.value);
    torch::Tensor mixed;
    if (m_attentionDropout == 0 || !is_training()) {
        std::optional<torch::Tensor> mask;
        if (m_attended.defined())
            mask = m_attended.expand({n, 1, length, length});
        mixed = at::scaled_dot_product_attention(query, key, value, mask);
    } else { // drop() draws from this model's generator
        auto scores = at::matmul(query, key.transpose(2, 3)) / std::sqrt(double(query.size(3)));
        if (m_attended.defined())
            scores = scores.masked_fill(m_attended.logical_not(), -std::numeric_limits<double>::infinity());
        mixed = at::matmul(drop(scores.softmax(-1), m_attentionDropout), value);
    }
    return mixed.transpose(1, 2).reshape({n, length, m_config.hidden});
}

} // namespace lockstep::trainer
