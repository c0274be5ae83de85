// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

/// What the config's model costs with its data, for a forecast, as one line of JSON: {"type":"model","train_samples":…,"parameter_bytes":[…],
/// "buffer_bytes":[…],"batches":[…],"layers":[{"forward_s":[…],"backward_s":[…],"output_bytes_per_sample":…,"parameter_bytes":…},…]}. The
/// samples of an epoch; the bytes of each parameter (and so of its gradient) in DDP's order; those of all buffers of one type, for each type,
/// as ranks send them; of each layer the seconds that a batch of each of these sizes takes on one CPU device, with its threads,
/// and the bytes that it passes on. Texts have a usual length. `batches`: in samples, at least one.
[[nodiscard]] Result<std::string> modelCostsJson(const RunConfig &config, const std::vector<std::int64_t> &batches);

} // namespace lockstep::trainer
