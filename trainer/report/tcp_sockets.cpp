// SPDX-License-Identifier: MIT
#include "trainer/report/tcp_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <string>

namespace lockstep::trainer {
namespace {

bool isTcp(int descriptor) {
    int protocol = 0;
    socklen_t length = sizeof protocol;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP;
}

} // namespace

std::vector<int> ownTcpSockets() {
    std::vector<int> sockets;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const std::string name = entry.path().filename().string();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (descriptor >= 0 && isTcp(descriptor))
            sockets.push_back(descriptor);
    }
    return sockets;
}

} // namespace lockstep::trainer
