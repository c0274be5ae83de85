// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// The network of PyTorch's MNIST example: conv 1→32 (3), conv 32→64 (3), pool, dropout .25, 9216→128, dropout .5, →10.
class ConvNet final : public Model {
public:
    /// `dropout` replaces both rates.
    explicit ConvNet(std::optional<double> dropout);

private:
    torch::Tensor layers(torch::Tensor input) override;

    // Constructed and registered in the order in which PyTorch's module of the same name draws its parameters.
    torch::nn::Conv2d m_conv1, m_conv2;
    torch::nn::Dropout m_dropout1, m_dropout2;
    torch::nn::Linear m_fc1, m_fc2;
};

} // namespace lockstep::trainer
