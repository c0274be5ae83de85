// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/unix_socket.h"

namespace lockstep::detail {

/// Locks the file, creating it if necessary, and writes this process's pid and its inode into it. The lock is held as long as the Fd
/// lives.
[[nodiscard]] Result<Fd> acquireLock(const std::string &path);

} // namespace lockstep::detail
