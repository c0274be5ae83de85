// SPDX-License-Identifier: MIT
#include "trainer/report/tcp_traffic.h"

#include <linux/tcp.h>
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

void TcpTraffic::start() {
    m_sockets.clear();
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const std::string name = entry.path().filename().string();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (descriptor >= 0 && isTcp(descriptor))
            m_sockets.push_back(descriptor);
    }
    m_before = sum();
}

TcpTraffic::Bytes TcpTraffic::take() {
    const Bytes now = sum();
    const Bytes since{now.sent - m_before.sent, now.received - m_before.received};
    m_before = now;
    return since;
}

TcpTraffic::Bytes TcpTraffic::sum() const {
    Bytes bytes;
    for (const int descriptor : m_sockets) {
        tcp_info info{};
        socklen_t length = sizeof info;
        if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
            continue;
        bytes.sent += static_cast<std::int64_t>(info.tcpi_bytes_acked);
        bytes.received += static_cast<std::int64_t>(info.tcpi_bytes_received);
    }
    return bytes;
}

} // namespace lockstep::trainer
