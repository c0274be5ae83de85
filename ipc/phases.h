// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace lockstep::phase {

/// Names of the phases of a step, in drawing order. `load` to `other` add up to the epoch.
inline constexpr std::string_view load = "load", h2d = "h2d", forward = "forward", backward = "backward",
                                  exposed = "exposed", optimizer = "optimizer", other = "other";
/// Phases that lie inside those above: all communication, waiting for slower ranks, and the parts of DP.
inline constexpr std::string_view comm = "comm", wait = "wait", scatter = "scatter", replicate = "replicate",
                                  parallelForward = "parallel_forward", gather = "gather", lossOnDevice0 = "loss",
                                  parallelBackward = "parallel_backward", reduce = "reduce";

} // namespace lockstep::phase
