// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// A network whose parameters have the names and the order of PyTorch's state_dict.
class Model : public torch::nn::Module {
public:
    /// Samples of the model's row in ipc/models.h → logits [n, classes], in the parameters' precision, even if computed in a lower one.
    torch::Tensor forward(torch::Tensor input);

    /// Computes in bf16 where torch's autocast considers it safe; parameters and gradients keep their precision. Call it after that
    /// precision was set.
    void setAutocast(bool on);
    /// Keep images and convolutions' weights in NHWC order. Call it before an optimizer takes the parameters.
    void setChannelsLast();
    /// The first tensor on the way from a batch to the logits that holds NaN or an infinity: "the input", "the parameter weight
    /// of layer fc1", "the output of layer fc1". Empty if none does. Draws nothing and changes nothing.
    [[nodiscard]] std::string firstNotFinite(const torch::Tensor &input);
    /// Draws dropout masks from this generator (of its device) instead of the device's default one, which other threads may use.
    void drawFrom(at::Generator generator) { m_generator = std::move(generator); }

protected:
    /// What a layer puts out passes through seen().
    virtual torch::Tensor layers(torch::Tensor input) = 0;
    [[nodiscard]] torch::Tensor seen(const char *layer, torch::Tensor output) const;
    /// torch's dropout, with this model's generator: the same numbers from the same state.
    [[nodiscard]] torch::Tensor drop(const torch::Tensor &input, double rate) const;

private:
    std::optional<torch::Dtype> m_autocast; ///< of the parameters
    bool m_channelsLast = false;
    std::function<void(const std::string &layer, const torch::Tensor &output)> m_look; ///< while firstNotFinite() runs
    std::optional<at::Generator> m_generator;
};

/// "fc1.weight" in words: "the parameter weight of layer fc1".
[[nodiscard]] std::string layerAndTensor(const std::string &name);

/// By its name in ipc/models.h. Fresh parameters are those PyTorch would draw after torch.manual_seed:
/// call torch::manual_seed first. `dropout` replaces all rates of a model that has any.
[[nodiscard]] Result<std::shared_ptr<Model>> makeModel(std::string_view name, std::optional<double> dropout);

} // namespace lockstep::trainer
