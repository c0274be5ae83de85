// SPDX-License-Identifier: MIT
#include "trainer/strategies/layer_costs.h"

#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include "ipc/median.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {
namespace {

constexpr std::size_t fewestPasses = 3, mostPasses = 20; // that are timed
constexpr std::int64_t enoughNs = 500'000'000;           // for more than the fewest
constexpr std::int64_t usualTokens = 32;                 // of a text, at most what a run allows

struct TimedLayer {
    torch::Tensor output;
    std::int64_t forwardNs = 0, backwardNs = 0;
};

/// A forward and a backward pass, layer by layer, in a training step's order.
std::vector<TimedLayer> timePass(Model &model, const torch::Tensor &input) {
    std::vector<TimedLayer> layers(model.layerCount());
    std::vector<torch::Tensor> inputs;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        torch::Tensor own = layer == 0 ? input : layers[layer - 1].output.detach();
        if (layer > 0 && own.is_floating_point())
            own.requires_grad_();
        inputs.push_back(own);
        const std::int64_t startNs = monotonicNs();
        layers[layer].output = model.forwardThrough(layer, layer + 1, own);
        layers[layer].forwardNs = monotonicNs() - startNs;
    }
    torch::Tensor gradient = at::ones_like(layers.back().output);
    for (std::size_t layer = layers.size();
         layer-- > 0 && gradient.defined() && layers[layer].output.requires_grad();) {
        const std::int64_t startNs = monotonicNs();
        layers[layer].output.backward(gradient);
        layers[layer].backwardNs = monotonicNs() - startNs;
        gradient = inputs[layer].grad();
    }
    return layers;
}

} // namespace

torch::Tensor exampleInput(const SampleSpec &sample, std::int64_t samples, std::int64_t mostTokens,
                           const torch::TensorOptions &ofPixels) {
    if (sample.values == Values::Text) // not of zeros, which are mostly padding
        return at::ones({samples, std::min(usualTokens, mostTokens)}, at::kLong);
    std::vector<std::int64_t> shape{samples};
    shape.insert(shape.end(), sample.sizes.begin(), sample.sizes.begin() + sample.dimensions());
    if (sample.values != Values::Pixels)
        return at::zeros(shape, at::kLong);
    // Of its own generator, so that the run's draws stay as they are. Equal pixels would make layers that compare them quicker.
    const auto generator = at::make_generator<at::CPUGeneratorImpl>();
    return at::rand(shape, generator, at::TensorOptions(ofPixels).device(at::kCPU)).to(ofPixels.device());
}

std::vector<LayerCost> layerCosts(Model &model, const torch::Tensor &input) {
    model.eval();                              // draws nothing
    const auto first = timePass(model, input); // loads kernels: its times don't count
    std::vector<std::vector<double>> forwardS(first.size()), backwardS(first.size()); // of each layer, pass by pass
    const std::int64_t startNs = monotonicNs();
    for (std::size_t passes = 0; passes < fewestPasses || (passes < mostPasses && monotonicNs() - startNs < enoughNs);
         ++passes) {
        const auto pass = timePass(model, input);
        for (std::size_t layer = 0; layer < pass.size(); ++layer) {
            forwardS[layer].push_back(static_cast<double>(pass[layer].forwardNs) * 1e-9);
            backwardS[layer].push_back(static_cast<double>(pass[layer].backwardNs) * 1e-9);
        }
    }
    model.train();
    std::vector<LayerCost> costs;
    for (std::size_t layer = 0; layer < first.size(); ++layer)
        costs.push_back({.time = {.forwardS = *median(forwardS[layer]), .backwardS = *median(backwardS[layer])},
                         .outputBytes = static_cast<std::int64_t>(first[layer].output.nbytes())});
    for (const auto &item : model.named_parameters()) {
        costs[model.layerOf(item.key())].parameterBytes += static_cast<std::int64_t>(item.value().nbytes());
        item.value().mutable_grad() = torch::Tensor();
    }
    return costs;
}

} // namespace lockstep::trainer
