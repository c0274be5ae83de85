// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// The port of rank 0's store, bound before any rank starts.
struct MasterPort {
    Fd listener; ///< bound and listening, close-on-exec
    std::string address;
    int port = 0;
};

/// Binds `port` (0: any free one) at `address`. If the port is in use, a BadArgument error names the process that has
/// it.
[[nodiscard]] Result<MasterPort> bindMasterPort(const std::string &address, int port);

/// The address of an interface, for rendezvous. The error for an unknown interface lists those of this machine.
[[nodiscard]] Result<std::string> addressOfInterface(const std::string &name);

} // namespace lockstep::agent
