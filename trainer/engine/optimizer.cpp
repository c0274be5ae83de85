// SPDX-License-Identifier: MIT
#include "trainer/engine/optimizer.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

namespace {
constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8; // PyTorch's defaults
}

Optimizer::Optimizer(NamedTensors parameters, OptimizerOptions options)
    : m_named(std::move(parameters)), m_options(std::move(options)) {
    for (const auto &[name, parameter] : m_named)
        m_parameters.push_back(parameter);
    makeState();
    makeGroups();
}

void Optimizer::makeGroups() {
    for (const bool decays : {true, false}) {
        Group group{decays ? m_options.weightDecay : 0, {}, {}};
        group.state.resize(m_state.size());
        for (std::size_t i = 0; i < m_parameters.size(); ++i) {
            if ((m_options.decayBiases || m_parameters[i].dim() > 1) != decays)
                continue;
            group.parameters.push_back(m_parameters[i]);
            for (std::size_t key = 0; key < m_state.size(); ++key)
                group.state[key].push_back(m_state[key].second[i]);
        }
        if (!group.parameters.empty())
            m_groups.push_back(std::move(group));
    }
}

void Optimizer::makeState() {
    const auto zeros = [&](const char *name) {
        std::vector<torch::Tensor> tensors;
        for (const auto &parameter : m_parameters)
            tensors.push_back(torch::zeros_like(parameter, torch::TensorOptions().requires_grad(false)));
        m_state.emplace_back(name, std::move(tensors));
    };
    if (m_options.kind == "sgd") {
        if (m_options.momentum != 0)
            zeros("momentum_buffer");
        return;
    }
    zeros("exp_avg");
    zeros("exp_avg_sq");
    std::vector<torch::Tensor> steps;
    for (const auto &parameter : m_parameters)
        steps.push_back(torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(parameter.device())));
    m_state.emplace_back(countKey, std::move(steps));
}

std::vector<torch::Tensor> Optimizer::gradients(const std::vector<torch::Tensor> &parameters) {
    std::vector<torch::Tensor> gradients;
    gradients.reserve(parameters.size());
    for (const auto &parameter : parameters) {
        const auto &gradient = parameter.grad();
        gradients.push_back(gradient.defined() ? gradient : torch::zeros_like(parameter));
    }
    return gradients;
}

void Optimizer::step(double share) {
    const c10::AutoGradMode noGrad(false);
    for (Group &group : m_groups)
        stepGroup(group, m_options.lr * share * m_lrShare);
    m_firstStep = false;
}

void Optimizer::stepGroup(Group &group, double lr) const {
    const auto gradient = gradients(group.parameters);
    auto &state = group.state;
    if (m_options.kind == "sgd") {
        const bool momentum = !state.empty();
        at::_fused_sgd_(group.parameters, gradient, momentum ? at::TensorList(state[0]) : at::TensorList(),
                        group.weightDecay, m_options.momentum, lr, /*dampening=*/0, /*nesterov=*/false,
                        /*maximize=*/false, momentum && m_firstStep);
        return;
    }
    at::_foreach_add_(state[2], 1);
    const auto step = m_options.kind == "adam" ? &at::_ops::_fused_adam_::call : &at::_ops::_fused_adamw_::call;
    step(group.parameters, gradient, state[0], state[1], {}, state[2], lr, beta1, beta2, group.weightDecay, epsilon,
         /*amsgrad=*/false, /*maximize=*/false, {}, {});
}

torch::Tensor Optimizer::gradientNorm() const {
    const c10::AutoGradMode noGrad(false);
    if (m_parameters.empty())
        return at::zeros({});
    return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients(m_parameters))));
}

void Optimizer::clipGradients(const torch::Tensor &norm, double limit) {
    const c10::AutoGradMode noGrad(false);
    const auto factor = at::clamp(limit / (norm + 1e-6), std::nullopt, 1.0);
    std::vector<torch::Tensor> gradients;
    for (const auto &parameter : m_parameters)
        if (parameter.grad().defined())
            gradients.push_back(parameter.grad());
    if (!gradients.empty())
        at::_foreach_mul_(gradients, factor);
}

void Optimizer::clearGradients() {
    for (auto &parameter : m_parameters)
        parameter.mutable_grad() = torch::Tensor();
}

std::string Optimizer::stateName(const std::string &parameter, const std::string &key) {
    return "optimizer." + parameter + "." + key;
}

NamedTensors Optimizer::state() const {
    NamedTensors named;
    if (m_firstStep)
        return named;
    for (const auto &[key, tensors] : m_state)
        for (std::size_t i = 0; i < tensors.size(); ++i)
            named.emplace_back(stateName(m_named[i].first, key), tensors[i]);
    return named;
}

Result<void> Optimizer::load(const NamedTensors &state) {
    const c10::AutoGradMode noGrad(false);
    if (state.empty()) {
        for (auto &[key, tensors] : m_state)
            for (torch::Tensor &tensor : tensors)
                tensor.zero_();
        m_firstStep = true;
        return {};
    }
    for (auto &[key, tensors] : m_state) {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const std::string name = stateName(m_named[i].first, key);
            const auto found =
                std::find_if(state.begin(), state.end(), [&](const auto &it) { return it.first == name; });
            if (found == state.end() || found->second.sizes() != tensors[i].sizes())
                return fail(Error::failed("the optimizer's " + name + " is missing or of another shape"));
            tensors[i].copy_(found->second);
        }
    }
    m_firstStep = false;
    return {};
}

} // namespace lockstep::trainer
