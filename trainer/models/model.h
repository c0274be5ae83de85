#pragma once
#include <memory>
#include <optional>
#include <string>

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

protected:
    virtual torch::Tensor layers(torch::Tensor input) = 0;

private:
    bool m_autocast = false, m_channelsLast = false;
};

/// lenet | convnet (layers in DESIGN.md 7). Fresh parameters are those PyTorch would draw after torch.manual_seed:
/// call torch::manual_seed first. `dropout`: replaces both rates of convnet; lenet has none.
[[nodiscard]] Result<std::shared_ptr<Model>> makeModel(const std::string &name, std::optional<double> dropout);

} // namespace lockstep::trainer
