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
    for (const auto &[name, parameter] : m_named) {
        const bool decays = m_options.decayBiases || parameter.dim() > 1;
        (decays ? m_decaying : m_steady).push_back(m_parameters.size());
        m_parameters.push_back(parameter);
    }
    makeState();
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
    m_state.emplace_back("step", std::move(steps));
}

std::vector<torch::Tensor> Optimizer::gradients() const {
    std::vector<torch::Tensor> gradients;
    gradients.reserve(m_parameters.size());
    for (const auto &parameter : m_parameters) {
        const auto &gradient = parameter.grad();
        gradients.push_back(gradient.defined() ? gradient : torch::zeros_like(parameter));
    }
    return gradients;
}

void Optimizer::step(double share) {
    const c10::AutoGradMode noGrad(false);
    const double lr = m_options.lr * share * m_lrShare;
    stepThose(m_decaying, m_options.weightDecay, lr);
    stepThose(m_steady, 0, lr);
    m_firstStep = false;
}

void Optimizer::stepThose(const std::vector<std::size_t> &which, double weightDecay, double lr) {
    if (which.empty())
        return;
    const auto chosen = [&](const std::vector<torch::Tensor> &all) {
        std::vector<torch::Tensor> tensors;
        tensors.reserve(which.size());
        for (const std::size_t i : which)
            tensors.push_back(all[i]);
        return tensors;
    };
    const auto parameters = chosen(m_parameters), gradient = chosen(gradients());
    const auto state = [&](std::size_t i) { return chosen(m_state[i].second); };
    if (m_options.kind == "sgd") {
        const bool momentum = !m_state.empty();
        const auto buffers = momentum ? state(0) : std::vector<torch::Tensor>();
        at::_fused_sgd_(parameters, gradient, buffers, weightDecay, m_options.momentum, lr, /*dampening=*/0,
                        /*nesterov=*/false, /*maximize=*/false, momentum && m_firstStep);
        return;
    }
    const auto steps = state(2);
    at::_foreach_add_(steps, 1);
    const auto step = m_options.kind == "adam" ? &at::_ops::_fused_adam_::call : &at::_ops::_fused_adamw_::call;
    step(parameters, gradient, state(0), state(1), {}, steps, lr, beta1, beta2, weightDecay, epsilon, /*amsgrad=*/false,
         /*maximize=*/false, {}, {});
}

torch::Tensor Optimizer::gradientNorm() const {
    const c10::AutoGradMode noGrad(false);
    return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients())));
}

void Optimizer::clipGradients(const torch::Tensor &norm, double limit) {
    const c10::AutoGradMode noGrad(false);
    const auto factor = at::clamp(limit / (norm + 1e-6), std::nullopt, 1.0);
    std::vector<torch::Tensor> gradients;
    for (const auto &parameter : m_parameters)
        if (parameter.grad().defined())
            gradients.push_back(parameter.grad());
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
