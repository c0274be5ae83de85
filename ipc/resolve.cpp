// SPDX-License-Identifier: MIT
#include "ipc/resolve.h"

#include <netdb.h>

#include <cstring>
#include <memory>

namespace lockstep {

namespace {

NetAddresses resolveAs(const std::string &address, int flags) {
    const auto colon = address.rfind(':');
    if (colon == std::string::npos)
        return fail(Error::badArgument("'" + address + "' has no port", "write it as HOST:PORT"));
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo *found = nullptr;
    if (const int rc = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found); rc != 0)
        return fail(Error::failed("'" + address + "' can't be resolved (" + ::gai_strerror(rc) + ")"));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
    std::vector<NetAddress> all;
    for (const addrinfo *one = found; one; one = one->ai_next) {
        NetAddress &added = all.emplace_back();
        std::memcpy(&added.storage, one->ai_addr, one->ai_addrlen);
        added.length = one->ai_addrlen;
    }
    return all;
}

} // namespace

NetAddresses resolve(const std::string &address) {
    return resolveAs(address, 0);
}

NetAddresses resolveNumeric(const std::string &address) {
    return resolveAs(address, AI_NUMERICHOST | AI_NUMERICSERV);
}

} // namespace lockstep
