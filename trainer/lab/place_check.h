#pragma once
#include <string>
#include <vector>

namespace lockstep::trainer {

/// `lockstep-trainer check …`: one rank of several sees whether all of them reach each other and add up right: an all-reduce
/// over numbers whose sum is known; where that fails, each pair by itself, so that the failing ones have names. At most ten
/// seconds, on GPUs a minute more for their start. Takes a lab's flags. Rank 0 prints one line of JSON:
///   {"type":"check","ok":true}
///   {"type":"check","ok":false,"reason":"…","ranks":["rank 0 on hostA", …],"pairs":[{"ranks":[1,2],"reason":"…"}]}
/// An exit code: 0 whenever the line was printed.
[[nodiscard]] int checkMain(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
