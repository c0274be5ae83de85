// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// The port at which rank 0's store listens, bound before anything starts.
struct MasterPort {
    Fd listener; ///< bound and listening, close-on-exec
    std::string address;
    int port = 0;
};

/// Binds `port` (0: any free one) at `address`. A port in use is a BadArgument error that names its holder.
[[nodiscard]] Result<MasterPort> bindMasterPort(const std::string &address, int port);

/// The address of an interface, for rendezvous; unknown names the ones there are.
[[nodiscard]] Result<std::string> addressOfInterface(const std::string &name);

} // namespace lockstep::agent
