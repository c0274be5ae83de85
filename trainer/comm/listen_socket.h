// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ipc/error.h"
#include "ipc/unix_socket.h"

namespace lockstep::trainer {

/// A listening TCP socket on that address and port alone. A port in use is a BadArgument that names it and, where /proc
/// shows it, the process that holds it. An address that is not this machine's (a service name) falls back to all addresses,
/// and `everywhere` is set.
[[nodiscard]] Result<Fd> listenOn(const std::string &address, int port, bool &everywhere);

/// The address this machine uses to reach `address`; empty when there is no route.
[[nodiscard]] std::string localAddressTowards(const std::string &address, int port);

} // namespace lockstep::trainer
