// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep {

/// The one that is there, or where it would be made; makes nothing.
[[nodiscard]] std::string presentSocketFolder();
/// Makes socketFolder() and keeps it there while the descriptor lives, also while it is empty: from the path of a socket to its bind.
[[nodiscard]] Result<Fd> holdSocketFolder();
/// Removes it when it is empty and nobody holds it; whoever wants it next makes it anew.
void leaveSocketFolder();

/// At the end of a program that may have made it.
class SocketFolderLeaver {
public:
    SocketFolderLeaver() = default;
    ~SocketFolderLeaver() { leaveSocketFolder(); }
    SocketFolderLeaver(const SocketFolderLeaver &) = delete;
    SocketFolderLeaver &operator=(const SocketFolderLeaver &) = delete;
};

} // namespace lockstep
