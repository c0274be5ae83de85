// SPDX-License-Identifier: MIT
#include "trainer/agent/net/resolve.h"

namespace lockstep::agent {

Result<Addresses> resolve(const std::string &address) {
    const auto colon = address.rfind(':');
    if (colon == std::string::npos)
        return fail(Error::badArgument("'" + address + "' has no port", "write it as HOST:PORT"));
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (const int rc = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found); rc != 0)
        return fail(Error::failed("'" + address + "' can't be resolved (" + ::gai_strerror(rc) + ")"));
    return Addresses(found);
}

} // namespace lockstep::agent
