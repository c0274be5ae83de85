// SPDX-License-Identifier: MIT
#pragma once

namespace lockstep::agent {

/// "0.1.0"
[[nodiscard]] const char *agentVersion();

} // namespace lockstep::agent
