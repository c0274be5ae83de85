// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

/// A network whose parameters have the names and the order of PyTorch's state_dict. It is a list of layers that a batch passes one
/// after another, so that a pipeline can share them out.
class Model : public torch::nn::Module {
public:
    /// Samples as ipc/model_facts.h describes them → logits [n, classes], in the parameters' precision, even if computed in a lower one.
    torch::Tensor forward(torch::Tensor input);
    /// The part of forward() from layer `first` to the one before `end`: from what layer `first` takes to what the last of them puts
    /// out, which is in a lower precision where computed in one, unless it is the logits.
    torch::Tensor forwardThrough(std::size_t first, std::size_t end, torch::Tensor input);
    /// What later layers need to know of a batch that only the first one takes, such as which tokens are padding. The first layer does
    /// this itself; call it before a forwardThrough() that begins with a later one.
    virtual void prepareFor(const torch::Tensor & /*input*/) {}
    [[nodiscard]] std::size_t layerCount() const { return m_layers.size(); }
    /// The layer to which a parameter of that name belongs.
    [[nodiscard]] std::size_t layerOf(const std::string &parameter) const;

    using torch::nn::Module::to;
    /// As in Python: whole numbers, which a buffer may hold, keep their type.
    void to(torch::Device device, torch::Dtype dtype, bool nonBlocking = false) override;

    /// Computes in bf16 where torch's autocast considers it safe; parameters and gradients keep their precision. Call it after that
    /// precision was set.
    void setAutocast(bool on);
    /// Keep images and convolutions' weights in NHWC order. Call it before an optimizer takes the parameters.
    void setChannelsLast();
    /// The first tensor on the way from a batch to the logits that holds NaN or an infinity: "the input", "the parameter weight
    /// of layer fc1", "the output of layer fc1". Empty if none does. `layers`: of the first ones alone; absent: of all. Draws nothing and
    /// changes nothing.
    [[nodiscard]] std::string firstNotFinite(const torch::Tensor &input, std::optional<std::size_t> layers = {});
    /// Draws dropout masks from this generator (of its device) instead of the device's default one, which other threads may use.
    void drawFrom(at::Generator generator) { m_generator = std::move(generator); }

protected:
    using Operation = std::function<torch::Tensor(torch::Tensor)>;
    /// The next layer: `run`, with the parameters whose names begin with `name` and a dot, or all of them if `name` is empty. They
    /// are in modules that are registered already.
    void addLayerAt(std::string name, const Operation &run) { add(std::move(name), run, {}); }
    /// Registers the module, with its parameters, as the next layer; `then`: operations without parameters after it.
    template <class Holder> void addLayer(const char *name, const Holder &module, const Operation &then = {}) {
        register_module(name, module);
        add(
            name, [module = Holder(module)](torch::Tensor input) mutable { return module(std::move(input)); }, then);
    }
    /// torch's dropout, with this model's generator: the same numbers from the same state.
    [[nodiscard]] torch::Tensor drop(const torch::Tensor &input, double rate) const;

private:
    struct Layer {
        std::string name;
        Operation run;
    };
    void add(std::string name, Operation module, Operation then);

    std::vector<Layer> m_layers;
    std::optional<torch::Dtype> m_autocast; ///< of the parameters
    bool m_channelsLast = false;
    std::function<void(const std::string &layer, const torch::Tensor &output)> m_look; ///< while firstNotFinite() runs
    std::optional<at::Generator> m_generator;
};

/// "fc1.weight" in words: "the parameter weight of layer fc1".
[[nodiscard]] std::string layerAndTensor(const std::string &name);

struct ModelOptions {
    std::optional<double> dropout = {}; ///< replaces all rates of a model that has any
    int classes = 0;                    ///< of the data; 0: those of the model's row
    /// bert: a folder of Hugging Face with sizes and weights; empty: random weights, of the sizes in the model's row
    std::string folder = {};
    std::vector<std::string> labels = {};               ///< of the classes, in their order; empty: not known
    std::function<void(const std::string &)> warn = {}; ///< takes a sentence about what was made; may be empty
};

/// By its name in ipc/models.h, or the path of a file (ipc/model_facts.h). Fresh parameters are those PyTorch would draw after
/// torch.manual_seed: call torch::manual_seed first. A file has its own.
[[nodiscard]] Result<std::shared_ptr<Model>> makeModel(std::string_view name, const ModelOptions &options);

} // namespace lockstep::trainer
