// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace lockstep::trainer {

/// Numbers of fp32 that a rank multiplies before an exchange that is timed as it occurs in training. They are more than a core's own
/// caches hold, and take a millisecond or two: what is exchanged is cold then, and the threads that exchange it are asleep.
inline constexpr std::int64_t workNumbers = 2 << 20;

} // namespace lockstep::trainer
