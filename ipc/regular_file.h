// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>

#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep {

/// Opens a file of data, close-on-exec. A pipe, a device or a folder in its place is an error and is never waited for: what
/// lies in a run's folder may be another's. With O_CREAT it is made with mode 0600.
[[nodiscard]] Result<Fd> openRegular(const std::string &path, int flags = O_RDONLY);

} // namespace lockstep
