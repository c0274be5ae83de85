// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// The bytes of each parameter of the config's model (and so of its gradient), in DDP's order, as one line of JSON:
/// {"type":"parameters","bytes":[…]}. For a forecast on a machine that has no trainer.
[[nodiscard]] Result<std::string> parameterBytesJson(const RunConfig &config);

} // namespace lockstep::trainer
