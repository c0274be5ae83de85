// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "ipc/models.h"
#include "ipc/stage_plan.h"
#include "trainer/models/model.h"

namespace lockstep::trainer {

/// What a layer of a model costs a stage of a pipeline.
struct LayerCost {
    LayerTime time;
    std::int64_t outputBytes = 0; ///< that it passes on
    std::int64_t parameterBytes = 0;
};

/// So many samples that show what passes through the layers: random pixels, always the same, or of texts tokens of a usual length, at
/// most `mostTokens`.
[[nodiscard]] torch::Tensor exampleInput(const SampleSpec &sample, std::int64_t samples, std::int64_t mostTokens,
                                         const torch::TensorOptions &ofPixels);

/// Times each layer on the model's device with that input: medians of a few passes through all layers. Draws nothing of the run's random
/// numbers; leaves no gradients.
[[nodiscard]] std::vector<LayerCost> layerCosts(Model &model, const torch::Tensor &input);

} // namespace lockstep::trainer
