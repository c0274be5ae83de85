// SPDX-License-Identifier: MIT
#include "trainer/strategies/flat_tensors.h"

#include <ATen/Functions.h>

namespace lockstep::trainer {

torch::Tensor flattened(const std::vector<torch::Tensor> &tensors) {
    std::vector<torch::Tensor> flat;
    flat.reserve(tensors.size());
    for (const torch::Tensor &tensor : tensors)
        flat.push_back(tensor.flatten());
    return at::cat(flat);
}

std::vector<torch::Tensor> unflattened(const torch::Tensor &flat, const std::vector<torch::Tensor> &as) {
    std::vector<torch::Tensor> tensors;
    tensors.reserve(as.size());
    std::int64_t place = 0;
    for (const torch::Tensor &tensor : as) {
        tensors.push_back(flat.narrow(0, place, tensor.numel()).view(tensor.sizes()));
        place += tensor.numel();
    }
    return tensors;
}

void copyFlat(const torch::Tensor &flat, const std::vector<torch::Tensor> &into) {
    const auto parts = unflattened(flat, into);
    for (std::size_t i = 0; i < into.size(); ++i)
        into[i].copy_(parts[i]);
}

} // namespace lockstep::trainer
