// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// What the config's model costs, for a forecast, as one line of JSON: {"type":"model","parameter_bytes":[…], "layers":[{"seconds":…,
/// "output_bytes":…,"parameter_bytes":…},…]}. The bytes of each parameter (and so of its gradient) in DDP's order; of each layer the
/// seconds that one batch takes forward and backward on one CPU device, with its threads, and the bytes that it passes on. Of texts the
/// batch has a usual length.
[[nodiscard]] Result<std::string> modelCostsJson(const RunConfig &config);

} // namespace lockstep::trainer
