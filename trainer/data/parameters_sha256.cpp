// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include "ipc/sha256.h"
#include "trainer/data/safetensors.h"

namespace lockstep::trainer {

std::string parametersSha256(const std::vector<torch::Tensor> &parameters) {
    Sha256 hash;
    for (const auto &parameter : parameters) {
        const auto values = parameter.detach().to(torch::kCPU, torch::kFloat32).contiguous();
        hash.add({static_cast<const char *>(values.const_data_ptr()), values.nbytes()});
    }
    return hash.hex();
}

} // namespace lockstep::trainer
