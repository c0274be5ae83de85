// SPDX-License-Identifier: MIT
#include "trainer/models/model.h"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include "trainer/models/convnet.h"
#include "trainer/models/lenet.h"

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

} // namespace

torch::Tensor Model::forward(torch::Tensor input) {
    if (m_channelsLast)
        input = input.contiguous(at::MemoryFormat::ChannelsLast);
    if (!m_autocast)
        return layers(std::move(input));
    const auto dtype = input.scalar_type();
    const Autocast bf16(input.device().type());
    return layers(std::move(input)).to(dtype);
}

void Model::setChannelsLast() {
    const torch::NoGradGuard noGrad;
    m_channelsLast = true;
    for (auto &parameter : parameters())
        if (parameter.dim() == 4)
            parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
}

torch::Tensor Model::drop(const torch::Tensor &input, double rate) const {
    if (!m_generator || !is_training() || rate == 0)
        return at::dropout(input, rate, is_training());
    return input * at::empty_like(input).bernoulli_(1 - rate, m_generator).div_(1 - rate);
}

Result<std::shared_ptr<Model>> makeModel(const std::string &name, std::optional<double> dropout) {
    if (dropout && !(*dropout >= 0 && *dropout < 1))
        return fail(Error::badArgument("dropout " + std::to_string(*dropout) + " is no rate",
                                       "use 0 (off) or more, below 1", "dropout"));
    if (name == "lenet")
        return std::make_shared<LeNet>();
    if (name == "convnet")
        return std::make_shared<ConvNet>(dropout);
    return fail(Error::badArgument("no model is named '" + name + "'", "use lenet or convnet", "model"));
}

} // namespace lockstep::trainer
