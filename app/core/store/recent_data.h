// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include <QString>

namespace lockstep::core {
class RunStore;

/// Why this viewer has no recent data of the run. Empty: it has, or the run is over. Call before showing a live figure.
[[nodiscard]] QString whyNoRecentData(const RunStore &run);
/// The same of one device: of the run as a whole, or of the device's node.
[[nodiscard]] QString whyNoRecentData(const RunStore &run, const std::string &device);
/// Agent 0 has lost the agent of another node while the run goes on.
[[nodiscard]] bool linkToNodeLost(const RunStore &run);

} // namespace lockstep::core
