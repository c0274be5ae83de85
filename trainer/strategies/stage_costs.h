// SPDX-License-Identifier: MIT
#pragma once
#include <torch/types.h>

#include "ipc/stage_plan.h"
#include "trainer/comm/communicator.h"
#include "trainer/models/model.h"

namespace lockstep::trainer {

/// What a pipeline may be cut by, measured by all ranks at the same time: each layer with a micro-batch like `input` on each stage's device,
/// and a message of each layer's output between neighbours. Of several pipelines the greatest counts, so all ranks get the same. `oneNode`:
/// the ranks' messages take their own cores. Throws what c10d throws.
[[nodiscard]] CutCosts measuredCosts(Model &model, Communicator &communicator, int stages, const torch::Tensor &input,
                                     bool oneNode);

} // namespace lockstep::trainer
