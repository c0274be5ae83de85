// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep {

/// The folder that holds the socket of that name: who made it may have had another folder to choose, earlier or in
/// another environment. Without such a socket: the existing folder, or where it would be created. Creates nothing.
[[nodiscard]] std::string socketFolderOf(const std::string &socket);
/// Creates socketFolder() and keeps it in place, even while it is empty, as long as the descriptor lives. Hold it from
/// taking a socket's path to binding it.
[[nodiscard]] Result<Fd> holdSocketFolder();
/// Removes the folder if it is empty and nobody holds it; it is created again when needed.
void leaveSocketFolder();

/// Calls leaveSocketFolder() at the end of a program that may have created the folder.
class SocketFolderLeaver {
public:
    SocketFolderLeaver() = default;
    ~SocketFolderLeaver() { leaveSocketFolder(); }
    SocketFolderLeaver(const SocketFolderLeaver &) = delete;
    SocketFolderLeaver &operator=(const SocketFolderLeaver &) = delete;
};

} // namespace lockstep
