// SPDX-License-Identifier: MIT
#pragma once

namespace lockstep::core {

/// How long a follower waits before it retries a lost link: doubled each time, up to a limit.
constexpr int firstBackoffMs = 250, lastBackoffMs = 30'000;

} // namespace lockstep::core
