// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace lockstep::trainer {

/// What two neighbouring ranks of a pipeline spend on a message of each of these sizes, in seconds: half of what one sent and one received
/// take after some work, while the other rank does the same. Medians of a few exchanges. Both ranks call it with the same sizes, at the same
/// time; from one thread. Throws what c10d throws.
[[nodiscard]] std::vector<double> messageSeconds(c10d::ProcessGroup &group, int peer,
                                                 const std::vector<std::int64_t> &bytes);

} // namespace lockstep::trainer
