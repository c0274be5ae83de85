// SPDX-License-Identifier: MIT
#include "trainer/strategies/layer_costs.h"

#include <algorithm>
#include <limits>

#include <ATen/Functions.h>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {
namespace {

constexpr int timings = 4;               // of each layer; the first one loads kernels
constexpr std::int64_t usualTokens = 32; // of a text, at most what a run allows

} // namespace

torch::Tensor exampleInput(const SampleSpec &sample, std::int64_t samples, std::int64_t mostTokens,
                           const torch::TensorOptions &ofPixels) {
    if (sample.values == Values::Text) // not of zeros, which are mostly padding
        return at::ones({samples, std::min(usualTokens, mostTokens)}, at::kLong);
    std::vector<std::int64_t> shape{samples};
    shape.insert(shape.end(), sample.sizes.begin(), sample.sizes.begin() + sample.dimensions());
    return at::zeros(shape, sample.values == Values::Pixels ? ofPixels : at::TensorOptions(at::kLong));
}

std::vector<LayerCost> layerCosts(Model &model, const torch::Tensor &input) {
    std::vector<LayerCost> costs;
    model.eval(); // draws nothing
    torch::Tensor next = input;
    for (std::size_t layer = 0; layer < model.layerCount(); ++layer) {
        LayerCost cost{.seconds = std::numeric_limits<double>::infinity()};
        torch::Tensor output;
        for (int i = 0; i < timings; ++i) {
            const bool real = next.is_floating_point();
            const torch::Tensor own = real && layer > 0 ? next.detach().requires_grad_() : next;
            const std::int64_t startNs = monotonicNs();
            output = model.forwardThrough(layer, layer + 1, own);
            if (output.requires_grad())
                output.backward(at::ones_like(output));
            cost.seconds = std::min(cost.seconds, static_cast<double>(monotonicNs() - startNs) * 1e-9);
        }
        cost.outputBytes = static_cast<std::int64_t>(output.nbytes());
        costs.push_back(cost);
        next = output.detach();
    }
    model.train();
    for (const auto &item : model.named_parameters()) {
        costs[model.layerOf(item.key())].parameterBytes += static_cast<std::int64_t>(item.value().nbytes());
        item.value().mutable_grad() = torch::Tensor();
    }
    return costs;
}

} // namespace lockstep::trainer
