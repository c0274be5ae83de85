// SPDX-License-Identifier: MIT
#include "trainer/models/lenet.h"

#include "trainer/models/relu_max_pool.h"

namespace lockstep::trainer {

LeNet::LeNet()
    : m_conv1(torch::nn::Conv2dOptions(1, 6, 5).padding(2)), m_conv2(torch::nn::Conv2dOptions(6, 16, 5)),
      m_fc1(400, 120), m_fc2(120, 84), m_fc3(84, 10) {
    register_module("conv1", m_conv1);
    register_module("conv2", m_conv2);
    register_module("fc1", m_fc1);
    register_module("fc2", m_fc2);
    register_module("fc3", m_fc3);
}

torch::Tensor LeNet::layers(torch::Tensor input) {
    auto x = reluMaxPool2(seen("conv1", m_conv1(std::move(input))));
    x = reluMaxPool2(seen("conv2", m_conv2(x)));
    x = torch::relu(seen("fc1", m_fc1(x.flatten(1))));
    x = torch::relu(seen("fc2", m_fc2(x)));
    return seen("fc3", m_fc3(x));
}

} // namespace lockstep::trainer
