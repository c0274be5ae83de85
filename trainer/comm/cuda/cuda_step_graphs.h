// SPDX-License-Identifier: MIT
#pragma once
#include "trainer/comm/step_graphs.h"

namespace lockstep::trainer {

/// The implementation of makeStepGraphs() inside the CUDA library.
[[nodiscard]] std::unique_ptr<StepGraphs> makeCudaStepGraphs();

} // namespace lockstep::trainer
