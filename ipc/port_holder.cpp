// SPDX-License-Identifier: MIT
#include "ipc/port_holder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// The sockets that listen on the port, as /proc/PID/fd shows them: "socket:[INODE]".
std::set<std::string> listeningSockets(int port) {
    std::set<std::string> sockets;
    for (const char *table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream file(table);
        std::string line;
        for (std::getline(file, line); std::getline(file, line);) {
            std::istringstream fields(line);
            std::string slot, local, remote, state, queues, timer, retransmit, uid, timeout, inode;
            fields >> slot >> local >> remote >> state >> queues >> timer >> retransmit >> uid >> timeout >> inode;
            const auto colon = local.rfind(':');
            if (state == "0A" && colon != std::string::npos &&
                std::strtol(local.c_str() + colon + 1, nullptr, 16) == port)
                sockets.insert("socket:[" + inode + "]");
        }
    }
    return sockets;
}

bool holdsOneOf(const fs::path &process, const std::set<std::string> &sockets) {
    std::error_code error; // fails for another user's process, or one that has just ended
    for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end; fd.increment(error)) {
        std::error_code closed;
        if (sockets.contains(fs::read_symlink(fd->path(), closed).string()))
            return true;
    }
    return false;
}

} // namespace

std::string PortHolder::words() const {
    return std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
}

std::optional<PortHolder> holderOfPort(int port) {
    const std::set<std::string> sockets = listeningSockets(port);
    std::optional<PortHolder> holder;
    std::error_code error;
    for (fs::directory_iterator entry(sockets.empty() ? "" : "/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string pid = entry->path().filename().string();
        if (pid.find_first_not_of("0123456789") != std::string::npos || !holdsOneOf(entry->path(), sockets))
            continue;
        holder = {static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), {}};
        std::ifstream command(entry->path() / "comm");
        std::getline(command, holder->name);
        if (holder->pid != ::getpid())
            break;
    }
    return holder;
}

} // namespace lockstep
