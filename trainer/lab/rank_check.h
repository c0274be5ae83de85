// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace lockstep::trainer {

/// `lockstep-trainer check …`, as one rank of several: checks that all ranks reach each other, with an all-reduce of
/// numbers whose sum is known. If that fails, each pair of ranks tries alone, to find the pairs that fail. Takes at
/// most ten seconds, on GPUs up to a minute more for their start. It has the same options as the lab. Rank 0 prints one
/// line of JSON:
///   {"type":"check","ok":true}
///   {"type":"check","ok":false,"reason":"…","ranks":["rank 0 on hostA", …],"pairs":[{"ranks":[1,2],"reason":"…"}]}
/// Returns the exit code: 0 whenever the line was printed.
[[nodiscard]] int checkMain(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
