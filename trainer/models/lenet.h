// SPDX-License-Identifier: MIT
#pragma once
#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// LeNet-5 with ReLU and max pooling: conv 1→6 (5, padding 2), conv 6→16 (5), 400→120→84→10. Its layers are made in the order in
/// which PyTorch's module of the same name draws its parameters.
class LeNet final : public Model {
public:
    LeNet();
};

} // namespace lockstep::trainer
