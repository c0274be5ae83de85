// SPDX-License-Identifier: MIT
#include "trainer/comm/listen_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "ipc/port_holder.h"

namespace lockstep::trainer {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList lookUp(const std::string &address, int port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo *found = nullptr;
    if (::getaddrinfo(address.empty() ? nullptr : address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
        found = nullptr;
    return {found, &::freeaddrinfo};
}

Error portTaken(const std::string &address, int port) {
    std::string what = "port " + std::to_string(port) + " on " + address + " is already in use";
    if (const auto holder = holderOfPort(port))
        what += " by process " + holder->words();
    return Error::badArgument(what, "end that process or choose another MASTER_PORT");
}

} // namespace

Result<Fd> listenOn(const std::string &address, int port, bool &everywhere) {
    everywhere = false;
    for (const bool all : {false, true}) {
        const AddressList found = lookUp(all ? std::string() : address, port, all ? AI_PASSIVE : 0);
        if (!found)
            return fail(Error::badArgument("MASTER_ADDR " + address + " can't be resolved",
                                           "give an address or a name this machine knows"));
        for (const addrinfo *it = found.get(); it; it = it->ai_next) {
            Fd fd(::socket(it->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
            const int on = 1;
            ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            if (::bind(fd.get(), it->ai_addr, it->ai_addrlen) == 0 && ::listen(fd.get(), 512) == 0) {
                everywhere = all;
                return fd;
            }
            if (errno == EADDRINUSE)
                return fail(portTaken(address, port));
            if (errno == EACCES)
                return fail(
                    Error::badArgument("port " + std::to_string(port) + " needs privileges", "choose one above 1023"));
        }
    }
    return fail(
        Error::badArgument("can't listen on " + address + " port " + std::to_string(port) + ": " + std::strerror(errno),
                           "choose another MASTER_ADDR or MASTER_PORT"));
}

std::string localAddressTowards(const std::string &address, int port) {
    const AddressList found = lookUp(address, port, 0);
    for (const addrinfo *it = found.get(); it; it = it->ai_next) {
        const Fd fd(::socket(it->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage own{};
        socklen_t size = sizeof own;
        if (::connect(fd.get(), it->ai_addr, it->ai_addrlen) != 0 ||
            ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&own), &size) != 0)
            continue;
        char text[NI_MAXHOST];
        if (::getnameinfo(reinterpret_cast<sockaddr *>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
            return text;
    }
    return {};
}

} // namespace lockstep::trainer
