// SPDX-License-Identifier: MIT
#pragma once
#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// A perceptron with one hidden layer: 784→128→10 with ReLU. docs/own-model.md shows it as the example of a model of one's own.
class Mlp final : public Model {
public:
    Mlp() {
        using torch::nn::Linear;
        const auto fc1 = register_module("fc1", Linear(784, 128));
        addLayerAt("fc1", [fc1](const torch::Tensor &images) { return torch::relu(fc1->forward(images.flatten(1))); });
        addLayer("fc2", Linear(128, 10));
    }
};

} // namespace lockstep::trainer
