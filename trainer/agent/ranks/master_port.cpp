// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/master_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "ipc/port_holder.h"
#include "trainer/agent/devices/machine.h"

namespace lockstep::agent {

Result<std::string> addressOfInterface(const std::string &name) {
    std::string known;
    for (const auto &[interface, address] : networkInterfaces()) {
        if (interface == name)
            return address;
        if (known.find(interface) == std::string::npos)
            known += (known.empty() ? "" : ", ") + interface;
    }
    return fail(
        Error::badArgument("there is no network interface '" + name + "' here", "use one of " + known, "interface"));
}

Result<MasterPort> bindMasterPort(const std::string &address, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo *found = nullptr;
    const int rc = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (rc != 0)
        return fail(
            Error::badArgument("master address '" + address + "' can't be resolved (" + ::gai_strerror(rc) + ")",
                               "give a host name or address of this machine"));
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, ::freeaddrinfo);

    MasterPort master;
    master.address = address;
    master.listener = Fd(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    ::setsockopt(master.listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (::bind(master.listener.get(), list->ai_addr, list->ai_addrlen) != 0 ||
        ::listen(master.listener.get(), 512) != 0) {
        const int error = errno;
        if (error != EADDRINUSE)
            return fail(Error::badArgument("master address " + address + " port " + std::to_string(port) +
                                               " can't be bound: " + std::strerror(error),
                                           "give an address of this machine and a port above 1023"));
        const auto holder = holderOfPort(port);
        return fail(Error::badArgument("master port " + std::to_string(port) + " is in use by " +
                                           (holder ? "pid " + holder->words() : "another user's process"),
                                       "end that process, or leave --master-port out and a free port is chosen"));
    }
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    ::getsockname(master.listener.get(), reinterpret_cast<sockaddr *>(&bound), &length);
    master.port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                                                    : reinterpret_cast<sockaddr_in &>(bound).sin_port);
    return master;
}

} // namespace lockstep::agent
