#pragma once

namespace lockstep::core {

/// How long a follower waits before it tries a lost link again: twice as long each time, up to the last.
constexpr int firstBackoffMs = 250, lastBackoffMs = 30'000;

} // namespace lockstep::core
