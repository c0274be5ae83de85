// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include <torch/torch.h>

#include "trainer/models/model.h"

namespace lockstep::trainer {

/// The network of PyTorch's MNIST example: conv 1→32 (3), conv 32→64 (3), pool, dropout .25, 9216→128, dropout .5, →10. Its layers
/// are made in the order in which PyTorch's module of the same name draws its parameters.
class ConvNet final : public Model {
public:
    /// `dropout` replaces both rates.
    explicit ConvNet(std::optional<double> dropout);
};

} // namespace lockstep::trainer
