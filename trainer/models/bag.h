// SPDX-License-Identifier: MIT
#pragma once
#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// Classifies sequences of tokens by the mean of their embeddings: 256×8 embeddings, 8→4.
class Bag final : public Model {
public:
    Bag();

private:
    torch::Tensor layers(torch::Tensor input) override;

    torch::nn::Embedding m_embedding;
    torch::nn::Linear m_fc;
};

} // namespace lockstep::trainer
