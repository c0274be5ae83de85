// SPDX-License-Identifier: MIT
#pragma once
#include <torch/types.h>

namespace lockstep::trainer {

/// max_pool2d(relu(input), 2) with the same bits, forward and backward. On a CPU, for fp32 and fp64 and even sizes,
/// in one pass: torch's max_pool2d is scalar for contiguous images and took a quarter of LeNet's step.
[[nodiscard]] torch::Tensor reluMaxPool2(const torch::Tensor &input);

} // namespace lockstep::trainer
