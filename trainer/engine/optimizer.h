// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"

namespace lockstep::trainer {

struct OptimizerOptions {
    std::string kind = "sgd"; ///< sgd | adam | adamw
    double lr = 0.01, momentum = 0.9, weightDecay = 0;
    bool decayBiases = true; ///< false: parameters of one dimension, biases and LayerNorm's, do not decay
};

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// PyTorch's SGD (momentum, no dampening, no Nesterov), Adam and AdamW over a list of parameters, by ATen's fused kernels:
/// one call a step instead of several a parameter. The list may be empty. Used from one thread.
class Optimizer {
public:
    /// The key of Adam's number of steps, which for each parameter is one number of fp32.
    static constexpr std::string_view countKey = "step";
    Optimizer(NamedTensors parameters, OptimizerOptions options);

    /// One step from the parameters' gradients; a parameter without one counts as having zeros (torch skips it).
    /// `share`: part of the learning rate that is used.
    void step(double share = 1);
    /// The part of the learning rate that a schedule leaves from the next step on. Any thread.
    void setLrShare(double share) { m_lrShare = share; }
    [[nodiscard]] double lrShare() const { return m_lrShare; }
    /// The length of all gradients as one vector, before step(): one element, on the parameters' device; without parameters 0.
    [[nodiscard]] torch::Tensor gradientNorm() const;
    /// Shortens gradients whose length `norm` exceeds `limit`, as torch.nn.utils.clip_grad_norm_ does.
    void clipGradients(const torch::Tensor &norm, double limit);
    /// Drops the gradients, so that the next backward writes new ones instead of adding.
    void clearGradients();

    /// Its state by name, "optimizer.conv1.weight.momentum_buffer" …; empty before the first step.
    [[nodiscard]] NamedTensors state() const;
    /// A name in such a state.
    [[nodiscard]] static std::string stateName(const std::string &parameter, const std::string &key);
    /// The same tensors by key, "momentum_buffer", one of each for every parameter; before the first step too.
    using StateTensors = std::vector<std::pair<std::string, std::vector<torch::Tensor>>>;
    [[nodiscard]] const StateTensors &stateTensors() const { return m_state; }
    /// Restores such a state, an empty one too; the error names what is missing.
    [[nodiscard]] Result<void> load(const NamedTensors &state);

private:
    /// Parameters with the same weight decay, and their parts of the state in the order of m_state.
    struct Group {
        double weightDecay = 0;
        std::vector<torch::Tensor> parameters;
        std::vector<std::vector<torch::Tensor>> state;
    };
    void makeState();
    void makeGroups();
    void stepGroup(Group &group, double lr) const;
    [[nodiscard]] static std::vector<torch::Tensor> gradients(const std::vector<torch::Tensor> &parameters);

    NamedTensors m_named;
    std::vector<torch::Tensor> m_parameters;
    OptimizerOptions m_options;
    /// SGD: momentum_buffer. Adam: exp_avg, exp_avg_sq, step. One tensor of each per parameter.
    StateTensors m_state;
    std::vector<Group> m_groups;
    std::atomic<double> m_lrShare = 1;
    bool m_firstStep = true;
};

} // namespace lockstep::trainer
