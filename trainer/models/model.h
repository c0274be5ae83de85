// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// A network whose parameters are named as PyTorch's state_dict names them, in its order.
class Model : public torch::nn::Module {
public:
    /// [n, 1, 28, 28] → logits [n, classes], in the parameters' precision whatever it was computed in.
    torch::Tensor forward(torch::Tensor input);

    /// Compute in bf16 where torch's autocast finds it safe; parameters and gradients stay as they are.
    void setAutocast(bool on) { m_autocast = on; }
    /// Keep images and convolutions' weights in NHWC order. Call it before an optimizer takes the parameters.
    void setChannelsLast();
    /// Draws what it drops from this one (of its device) instead of the device's default one, which other threads may use.
    void drawFrom(at::Generator generator) { m_generator = std::move(generator); }

protected:
    virtual torch::Tensor layers(torch::Tensor input) = 0;
    /// torch's dropout, with this model's generator: the same numbers from the same state.
    [[nodiscard]] torch::Tensor drop(const torch::Tensor &input, double rate) const;

private:
    bool m_autocast = false, m_channelsLast = false;
    std::optional<at::Generator> m_generator;
};

/// lenet | convnet. Fresh parameters are those PyTorch would draw after torch.manual_seed:
/// call torch::manual_seed first. `dropout`: replaces both rates of convnet; lenet has none.
[[nodiscard]] Result<std::shared_ptr<Model>> makeModel(const std::string &name, std::optional<double> dropout);

} // namespace lockstep::trainer
