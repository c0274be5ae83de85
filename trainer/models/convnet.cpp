// SPDX-License-Identifier: MIT
#include "trainer/models/convnet.h"

#include "trainer/models/relu_max_pool.h"

namespace lockstep::trainer {

ConvNet::ConvNet(std::optional<double> dropout)
    : m_conv1(torch::nn::Conv2dOptions(1, 32, 3)), m_conv2(torch::nn::Conv2dOptions(32, 64, 3)),
      m_dropout1(dropout.value_or(0.25)), m_dropout2(dropout.value_or(0.5)), m_fc1(9216, 128), m_fc2(128, 10) {
    register_module("conv1", m_conv1);
    register_module("conv2", m_conv2);
    register_module("dropout1", m_dropout1);
    register_module("dropout2", m_dropout2);
    register_module("fc1", m_fc1);
    register_module("fc2", m_fc2);
}

torch::Tensor ConvNet::layers(torch::Tensor input) {
    auto x = torch::relu(seen("conv1", m_conv1(std::move(input))));
    x = reluMaxPool2(seen("conv2", m_conv2(x)));
    x = drop(x, m_dropout1->options.p()).flatten(1);
    x = torch::relu(seen("fc1", m_fc1(x)));
    return seen("fc2", m_fc2(drop(x, m_dropout2->options.p())));
}

} // namespace lockstep::trainer
