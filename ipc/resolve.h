// SPDX-License-Identifier: MIT
#pragma once
#include <sys/socket.h>

#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep {

/// A numeric address and port in the form that socket functions take.
struct NetAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
};
using NetAddresses = Result<std::vector<NetAddress>>; ///< at least one

/// The TCP addresses of "HOST:PORT", where an IPv6 HOST is in brackets. Blocks while the name is looked up: for 20 s and more where
/// name servers don't answer (ipc/name_lookup.h knows a limit).
[[nodiscard]] NetAddresses resolve(const std::string &address);
/// The same of a HOST in figures; a name is an error. Never blocks.
[[nodiscard]] NetAddresses resolveNumeric(const std::string &address);

} // namespace lockstep
