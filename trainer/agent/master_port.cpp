#include "trainer/agent/master_port.h"

#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>

#include "trainer/agent/machine.h"
#include "trainer/agent/proc_files.h"

namespace lockstep::agent {

namespace {

/// Inodes of the sockets that listen on the port.
std::set<std::string> listeningInodes(int port) {
    std::set<std::string> inodes;
    for (const char *path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::istringstream lines(readSmallFile(path));
        std::string line;
        for (std::getline(lines, line); std::getline(lines, line);) {
            char local[64] = {}, remote[64] = {}, inode[32] = {};
            unsigned state = 0;
            // sl local remote st tx:rx tr:when retrnsmt uid timeout inode
            if (std::sscanf(line.c_str(), " %*s %63s %63s %x %*s %*s %*s %*s %*s %31s", local, remote, &state, inode) !=
                4)
                continue;
            const char *colon = std::strrchr(local, ':');
            constexpr unsigned listening = 0x0A;
            if (colon && state == listening && std::strtol(colon + 1, nullptr, 16) == port)
                inodes.insert(inode);
        }
    }
    return inodes;
}

struct CloseDir {
    void operator()(DIR *dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

bool holdsOneOf(const std::string &pid, const std::set<std::string> &inodes) {
    const std::string folder = "/proc/" + pid + "/fd";
    const Dir dir(::opendir(folder.c_str()));
    if (!dir)
        return false;
    while (const dirent *entry = ::readdir(dir.get())) {
        char target[64] = {};
        if (::readlink((folder + "/" + entry->d_name).c_str(), target, sizeof target - 1) <= 0)
            continue;
        const std::string text = target;
        if (text.starts_with("socket:[") && inodes.contains(text.substr(8, text.size() - 9)))
            return true;
    }
    return false;
}

} // namespace

std::string holderOfPort(int port) {
    const auto inodes = listeningInodes(port);
    const Dir proc(inodes.empty() ? nullptr : ::opendir("/proc"));
    if (!proc)
        return {};
    while (const dirent *entry = ::readdir(proc.get())) {
        const std::string pid = entry->d_name;
        if (pid.find_first_not_of("0123456789") != std::string::npos || !holdsOneOf(pid, inodes))
            continue;
        std::string name = readSmallFile("/proc/" + pid + "/comm");
        name.erase(name.find_last_not_of('\n') + 1);
        return "pid " + pid + " (" + name + ")";
    }
    return {};
}

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
        const std::string holder = holderOfPort(port);
        return fail(Error::badArgument("master port " + std::to_string(port) + " is in use" +
                                           (holder.empty() ? " by another user's process" : " by " + holder),
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
