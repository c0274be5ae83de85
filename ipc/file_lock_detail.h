// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/unix_socket.h"

namespace lockstep::detail {

/// Locks the file (made when missing) and writes this process's pid into it. The lock lives as long as the Fd.
[[nodiscard]] Result<Fd> acquireLock(const std::string &path);

} // namespace lockstep::detail
