// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep {

/// Opens a file of data to read, close-on-exec. A pipe, a device or a folder in its place is an error and is never waited
/// for: what lies in a run's folder may be another's.
[[nodiscard]] Result<Fd> openRegular(const std::string &path);
/// The same to write; the file is made with mode 0600. No link is written through (ipc/write_place.h). After an error, errno
/// says why, unless something else than a file was in its place. `flags`: O_WRONLY or O_RDWR, and O_APPEND.
[[nodiscard]] Result<Fd> openToWrite(const std::string &path, int flags);
/// Where the next data of a file begins, at `from` or after a hole there; without any, where the file ends. Moves the file's
/// position there. A sparse file of a few bytes may have holes of terabytes.
[[nodiscard]] off_t nextData(int fd, off_t from);

} // namespace lockstep
