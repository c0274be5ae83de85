// SPDX-License-Identifier: MIT
#include "trainer/models/convnet.h"

#include "trainer/models/relu_max_pool.h"

namespace lockstep::trainer {

ConvNet::ConvNet(std::optional<double> dropout) {
    using namespace torch::nn;
    const double early = dropout.value_or(0.25), late = dropout.value_or(0.5);
    addLayer("conv1", Conv2d(Conv2dOptions(1, 32, 3)), [](const torch::Tensor &x) { return torch::relu(x); });
    addLayer("conv2", Conv2d(Conv2dOptions(32, 64, 3)),
             [this, early](const torch::Tensor &x) { return drop(reluMaxPool2(x), early).flatten(1); });
    addLayer("fc1", Linear(9216, 128), [this, late](const torch::Tensor &x) { return drop(torch::relu(x), late); });
    addLayer("fc2", Linear(128, 10));
}

} // namespace lockstep::trainer
