// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

namespace lockstep::trainer {

/// The descriptors of this process's TCP sockets just now, in no order. Not owned.
[[nodiscard]] std::vector<int> ownTcpSockets();

} // namespace lockstep::trainer
