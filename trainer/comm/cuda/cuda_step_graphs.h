// SPDX-License-Identifier: MIT
#pragma once
#include "trainer/comm/step_graphs.h"

namespace lockstep::trainer {

/// makeStepGraphs()'s half on this side of the library's border.
[[nodiscard]] std::unique_ptr<StepGraphs> makeCudaStepGraphs();

} // namespace lockstep::trainer
