#pragma once
#include <chrono>
#include <cstdint>

namespace lockstep::agent {

inline constexpr std::chrono::milliseconds lookInterval{100};
/// How long a node is waited for that is lost when the ranks here have ended: when its connection was closed (its agent died,
/// or would have come back by now), and when the run has failed anyway.
inline constexpr std::chrono::milliseconds patienceClosed{5000}, patienceFailed{10'000};
/// Failures on two nodes this close may come in any order: the one by a signal is the cause.
inline constexpr std::int64_t sameMomentNs = 1'000'000'000;

} // namespace lockstep::agent
