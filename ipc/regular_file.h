// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <sys/types.h>

#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep {

/// Opens a file of data, close-on-exec. A pipe, a device or a folder in its place is an error and is never waited for: what
/// lies in a run's folder may be another's. With O_CREAT it is made with mode 0600.
[[nodiscard]] Result<Fd> openRegular(const std::string &path, int flags = O_RDONLY);
/// Where the next data of a file begins, at `from` or after a hole there; without any, where the file ends. Moves the file's
/// position there. A sparse file of a few bytes may have holes of terabytes.
[[nodiscard]] off_t nextData(int fd, off_t from);

} // namespace lockstep
