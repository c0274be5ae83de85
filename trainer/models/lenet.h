// SPDX-License-Identifier: MIT
#pragma once
#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// LeNet-5 with ReLU and max pooling: conv 1→6 (5, padding 2), conv 6→16 (5), 400→120→84→10.
class LeNet final : public Model {
public:
    LeNet();

private:
    torch::Tensor layers(torch::Tensor input) override;

    // Constructed and registered in the order in which PyTorch's module of the same name draws its parameters.
    torch::nn::Conv2d m_conv1, m_conv2;
    torch::nn::Linear m_fc1, m_fc2, m_fc3;
};

} // namespace lockstep::trainer
