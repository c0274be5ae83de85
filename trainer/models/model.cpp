// SPDX-License-Identifier: MIT
#include "trainer/models/model.h"

#include <algorithm>
#include <array>

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include "ipc/model_facts.h"
#include "trainer/models/bert.h"
#include "trainer/models/bert_folder.h"
#include "trainer/models/convnet.h"
#include "trainer/models/lenet.h"
#include "trainer/models/mlp.h"
#include "trainer/models/script_model.h"

namespace lockstep::trainer {

namespace {

/// Python's torch.autocast(device, torch.bfloat16) as an object.
class Autocast {
public:
    explicit Autocast(c10::DeviceType device)
        : m_device(device), m_enabled(at::autocast::is_autocast_enabled(device)),
          m_dtype(at::autocast::get_autocast_dtype(device)) {
        at::autocast::set_autocast_enabled(device, true);
        at::autocast::set_autocast_dtype(device, torch::kBFloat16);
        at::autocast::increment_nesting();
    }
    Autocast(const Autocast &) = delete;
    Autocast &operator=(const Autocast &) = delete;
    ~Autocast() {
        if (at::autocast::decrement_nesting() == 0)
            at::autocast::clear_cache(); // casts of parameters that the optimizer is about to change
        at::autocast::set_autocast_enabled(m_device, m_enabled);
        at::autocast::set_autocast_dtype(m_device, m_dtype);
    }

private:
    c10::DeviceType m_device;
    bool m_enabled;
    at::ScalarType m_dtype;
};

/// Whether the parameter belongs to the layer; all do to one that has no name, the model itself.
bool isOf(const std::string &layer, const std::string &parameter) {
    return layer.empty() || parameter.starts_with(layer + ".");
}

using MadeModel = Result<std::shared_ptr<Model>>;

MadeModel makeBert(const ModelOptions &options) {
    BertFolder folder;
    if (!options.folder.empty()) {
        auto read = readBertFolder(options.folder);
        if (!read)
            return fail(read.error());
        folder = std::move(*read);
    }
    const auto model = std::make_shared<Bert>(folder.config, options.classes > 0 ? options.classes : Bert::usualClasses,
                                              options.dropout);
    if (auto filled = fillWithWeights(*model, folder, options.labels); !filled)
        return fail(filled.error());
    if (const std::string notice = headNotice(folder, options.labels); options.warn && !notice.empty())
        options.warn(notice);
    return model;
}

struct ModelMaker {
    std::string_view name;
    MadeModel (*make)(const ModelOptions &options);
};

/// A line a model.
constexpr std::array modelMakers{
    ModelMaker{"lenet", [](const ModelOptions &) -> MadeModel { return std::make_shared<LeNet>(); }},
    ModelMaker{"convnet",
               [](const ModelOptions &options) -> MadeModel { return std::make_shared<ConvNet>(options.dropout); }},
    ModelMaker{"mlp", [](const ModelOptions &) -> MadeModel { return std::make_shared<Mlp>(); }},
    ModelMaker{"bert", makeBert}};
static_assert(std::ranges::equal(modelMakers, modelTable, {}, &ModelMaker::name, &ModelSpec::name),
              "a maker for each row of ipc/models.h, in its order");

} // namespace

torch::Tensor Model::forward(torch::Tensor input) {
    return forwardThrough(0, m_layers.size(), std::move(input));
}

torch::Tensor Model::forwardThrough(std::size_t first, std::size_t end, torch::Tensor input) {
    if (m_channelsLast && input.dim() == 4)
        input = input.contiguous(at::MemoryFormat::ChannelsLast);
    const auto run = [&] {
        for (std::size_t i = first; i < end; ++i)
            input = m_layers[i].run(std::move(input));
    };
    if (!m_autocast) {
        run();
        return input;
    }
    const Autocast bf16(input.device().type());
    run();
    return end == m_layers.size() ? input.to(*m_autocast) : input;
}

void Model::add(std::string name, Operation module, Operation then) {
    m_layers.push_back({name, [this, name, module = std::move(module), then = std::move(then)](torch::Tensor input) {
                            torch::Tensor output = module(std::move(input));
                            if (m_look)
                                m_look(name, output);
                            return then ? then(std::move(output)) : output;
                        }});
}

std::size_t Model::layerOf(const std::string &parameter) const {
    const auto found = std::ranges::find_if(m_layers, [&](const Layer &layer) { return isOf(layer.name, parameter); });
    return static_cast<std::size_t>(found - m_layers.begin());
}

void Model::to(torch::Device device, torch::Dtype dtype, bool nonBlocking) {
    const torch::NoGradGuard noGrad;
    for (torch::Tensor &parameter : parameters())
        parameter.set_data(parameter.to(device, dtype, nonBlocking));
    for (torch::Tensor &buffer : buffers())
        buffer.set_data(buffer.to(device, buffer.is_floating_point() ? dtype : buffer.scalar_type(), nonBlocking));
}

void Model::setAutocast(bool on) {
    m_autocast = on ? std::optional(parameters().front().scalar_type()) : std::nullopt;
}

void Model::setChannelsLast() {
    const torch::NoGradGuard noGrad;
    m_channelsLast = true;
    for (auto &parameter : parameters())
        if (parameter.dim() == 4)
            parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
}

std::string layerAndTensor(const std::string &name) {
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? "the parameter " + name
                                    : "the parameter " + name.substr(dot + 1) + " of layer " + name.substr(0, dot);
}

std::string Model::firstNotFinite(const torch::Tensor &input, std::optional<std::size_t> layers) {
    const c10::AutoGradMode noGrad(false);
    const auto bad = [](const torch::Tensor &tensor) {
        return tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>();
    };
    if (bad(input))
        return "the input";
    std::string found;
    m_look = [&](const std::string &layer, const torch::Tensor &output) {
        if (!found.empty() || !bad(output))
            return;
        found = layer.empty() ? "the output of the model" : "the output of layer " + layer;
        for (const auto &item : named_parameters())
            if (isOf(layer, item.key()) && bad(item.value())) {
                found = layerAndTensor(item.key());
                return;
            }
    };
    const bool training = is_training();
    eval(); // a dropout that draws would change what later steps draw
    (void)forwardThrough(0, layers.value_or(m_layers.size()), input);
    train(training);
    m_look = nullptr;
    return found;
}

torch::Tensor Model::drop(const torch::Tensor &input, double rate) const {
    if (!is_training() || rate == 0)
        return input;
    if (!m_generator) // torch's dropout with a mask of a byte a value, where at::dropout keeps four
        return std::get<0>(at::native_dropout(input, rate, true));
    return input * at::empty_like(input).bernoulli_(1 - rate, m_generator).div_(1 - rate);
}

Result<std::shared_ptr<Model>> makeModel(std::string_view name, const ModelOptions &options) {
    if (const auto &rate = options.dropout; rate && !(*rate >= 0 && *rate < 1))
        return fail(Error::badArgument("dropout " + std::to_string(*rate) + " is no rate",
                                       "use 0 (off) or more, below 1", "dropout"));
    if (isModelFile(name))
        return loadScriptModel(std::string(name));
    for (const ModelMaker &maker : modelMakers)
        if (maker.name == name)
            return maker.make(options);
    return fail(Error::badArgument("no model is named '" + std::string(name) + "'",
                                   "use " + modelNames() + ", or a TorchScript file like net.pt", "model"));
}

} // namespace lockstep::trainer
