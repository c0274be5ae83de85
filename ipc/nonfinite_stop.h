// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace lockstep {

/// How the last line of a rank ends that trains no further, since a loss was not finite and --on-nonfinite is stop. Started again, the
/// ranks would come to the same loss.
inline constexpr std::string_view nonfiniteStopWayOut = "try a lower --lr, or --on-nonfinite rollback or continue";

/// Whether a run that ended for this reason ended so.
[[nodiscard]] inline bool isNonfiniteStop(std::string_view reason) {
    return reason.find(nonfiniteStopWayOut) != std::string_view::npos;
}

} // namespace lockstep
