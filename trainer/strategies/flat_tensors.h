// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include <torch/types.h>

namespace lockstep::trainer {

/// All numbers of the tensors, one after another, in a new vector.
[[nodiscard]] torch::Tensor flattened(const std::vector<torch::Tensor> &tensors);
/// Such a vector, cut and shaped as the tensors are: views of it.
[[nodiscard]] std::vector<torch::Tensor> unflattened(const torch::Tensor &flat, const std::vector<torch::Tensor> &as);
/// Copies such a vector into the tensors.
void copyFlat(const torch::Tensor &flat, const std::vector<torch::Tensor> &into);

} // namespace lockstep::trainer
