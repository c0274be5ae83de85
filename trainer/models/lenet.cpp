// SPDX-License-Identifier: MIT
#include "trainer/models/lenet.h"

#include "trainer/models/relu_max_pool.h"

namespace lockstep::trainer {

LeNet::LeNet() {
    using namespace torch::nn;
    const Operation relu = [](const torch::Tensor &x) { return torch::relu(x); };
    addLayer("conv1", Conv2d(Conv2dOptions(1, 6, 5).padding(2)), reluMaxPool2);
    addLayer("conv2", Conv2d(Conv2dOptions(6, 16, 5)),
             [](const torch::Tensor &x) { return reluMaxPool2(x).flatten(1); });
    addLayer("fc1", Linear(400, 120), relu);
    addLayer("fc2", Linear(120, 84), relu);
    addLayer("fc3", Linear(84, 10));
}

} // namespace lockstep::trainer
