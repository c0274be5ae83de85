// SPDX-License-Identifier: MIT
#pragma once
#include <netdb.h>

#include <memory>
#include <string>

#include "ipc/error.h"

namespace lockstep::agent {

struct FreeAddresses {
    void operator()(addrinfo *list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// The TCP addresses of "HOST:PORT", where an IPv6 HOST is in brackets. Blocks while the name is looked up.
[[nodiscard]] Result<Addresses> resolve(const std::string &address);

} // namespace lockstep::agent
