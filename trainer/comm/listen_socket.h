// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::trainer {

/// A TCP socket that listens on this address and port only. If the port is in use, a BadArgument names it and, where
/// /proc shows it, the process that has it. For an address that this machine does not have (a service name) the socket
/// listens on all addresses, and `everywhere` is set.
[[nodiscard]] Result<Fd> listenOn(const std::string &address, int port, bool &everywhere);

/// The address of this machine from which `address` is reached; empty if there is no route.
[[nodiscard]] std::string localAddressTowards(const std::string &address, int port);

} // namespace lockstep::trainer
