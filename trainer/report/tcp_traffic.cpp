// SPDX-License-Identifier: MIT
#include "trainer/report/tcp_traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "trainer/report/tcp_sockets.h"

namespace lockstep::trainer {
void TcpTraffic::start() {
    m_sockets = ownTcpSockets();
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
        // What this process has handed over: acknowledgements of an epoch's last bytes come after its last step.
        bytes.sent +=
            static_cast<std::int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes);
        bytes.received += static_cast<std::int64_t>(info.tcpi_bytes_received);
    }
    return bytes;
}

} // namespace lockstep::trainer
