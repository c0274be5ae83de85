// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {

/// How long a change waits for another process that is changing the same document, which takes that one milliseconds.
using Patience = std::chrono::milliseconds;
inline constexpr Patience commandPatience{1000};
inline constexpr Patience windowPatience{50}; ///< less than the time in which a window answers a key

/// The lock under which a document of this user's (`path`) is read, changed and written. Blocks up to `patience`.
[[nodiscard]] Result<FileLock> lockOfDocument(const std::string &path, Patience patience);

} // namespace lockstep::core
