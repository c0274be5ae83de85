// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/unix_socket.h" // FileLock

namespace lockstep {

/// As FileLock::acquire. If another process holds the lock, the error is `ifHeld`, with who holds it; if the file can't be
/// opened, on a full disk for example, the error says that.
[[nodiscard]] Result<FileLock> takeLock(const std::string &path, Error ifHeld);

/// Whether the path still leads to the open file: it may have been removed, or replaced by another one.
[[nodiscard]] bool isFileAt(int fd, const std::string &path);

} // namespace lockstep
