// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include <QString>

namespace lockstep::core {
class RunStore;

/// Why what the run does now can't be known by this viewer. Empty: it is heard, or it is over. Ask before showing a live figure.
[[nodiscard]] QString whyUnheard(const RunStore &run);
/// The same of one device: of the run as a whole, or of the device's node.
[[nodiscard]] QString whyUnheard(const RunStore &run, const std::string &device);
/// Agent 0 has lost the agent of another node while the run goes on.
[[nodiscard]] bool linkToNodeLost(const RunStore &run);

} // namespace lockstep::core
