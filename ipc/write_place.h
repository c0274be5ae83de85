// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep {

/// Opens a folder with O_PATH, to write in it with openat(), renameat(), mkdirat() and their like. Below runsFolder() and
/// experimentsFolder(), each folder is opened relative to the one above it and no link is followed: what lies there may come
/// from elsewhere, and must not decide where else something is written. Links above them are followed, since a home may lie
/// on another disk. After an error, errno says why.
[[nodiscard]] Result<Fd> openFolderToWrite(const std::string &folder);

/// Where a file or a folder is made: a name in an open folder.
struct WritePlace {
    Fd folder;
    std::string name;
};
/// The place of `path`, by openFolderToWrite().
[[nodiscard]] Result<WritePlace> writePlace(const std::string &path);

} // namespace lockstep
