// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <variant>

#include <torch/types.h>

namespace lockstep::trainer {

/// A metric of one step (ipc/metrics.h): a number, or a tensor of one element on the loss's device.
struct StepMetric {
    std::string_view name;
    std::variant<double, torch::Tensor> value;
};

} // namespace lockstep::trainer
