// SPDX-License-Identifier: MIT
#include "trainer/agent/net/peer_tcp_state.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ipc/unix_socket.h"

namespace lockstep::agent {

namespace {
constexpr unsigned established = 1;
/// Training ranks exchange data many times a second. A node that answered within the last 2 s is alive. If something is
/// unacknowledged and nothing has come for 4 s, it is gone.
constexpr std::chrono::milliseconds fresh{2000}, stale{4000};

struct Request {
    nlmsghdr header{};
    inet_diag_req_v2 body{};
};

std::string remoteOf(const inet_diag_msg &message) {
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(message.idiag_family, message.id.idiag_dst, text, sizeof text);
    const std::string address = text;
    return address.starts_with("::ffff:") && address.find('.') != std::string::npos ? address.substr(7) : address;
}

void take(const tcp_info &info, PeerTcpState &state) {
    ++state.connections;
    state.unanswered += info.tcpi_unacked > 0 ? 1 : 0;
    const std::chrono::milliseconds heard(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv));
    state.lastHeard = std::min(heard, state.lastHeard.value_or(heard));
}

void take(const inet_diag_msg &message, std::size_t length, PeerTcpState &state) {
    auto left = static_cast<int>(length);
    for (const auto *attribute = reinterpret_cast<const rtattr *>(&message + 1); RTA_OK(attribute, left);
         attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type != INET_DIAG_INFO)
            continue;
        tcp_info info{}; // older kernels fill in less of it
        std::memcpy(&info, RTA_DATA(attribute), std::min<std::size_t>(sizeof info, RTA_PAYLOAD(attribute)));
        take(info, state);
    }
}

/// False at the end of the answer.
bool takeAnswer(const char *bytes, std::size_t size, const std::string &address, PeerTcpState &state) {
    auto left = static_cast<unsigned>(size);
    for (const auto *header = reinterpret_cast<const nlmsghdr *>(bytes); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
            return false;
        const auto *message = static_cast<const inet_diag_msg *>(NLMSG_DATA(header));
        if (remoteOf(*message) == address)
            take(*message, header->nlmsg_len - NLMSG_LENGTH(sizeof *message), state);
    }
    return true;
}

void readFamily(unsigned char family, const std::string &address, PeerTcpState &state) {
    const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    const timeval limit{0, 200'000}; // the kernel answers at once
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    Request request;
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.sdiag_family = family;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
    request.body.idiag_states = 1U << established;
    if (::send(socket.get(), &request, sizeof request, 0) < 0)
        return;
    alignas(nlmsghdr) char buffer[32768];
    for (ssize_t size = 1; size > 0;) {
        size = ::recv(socket.get(), buffer, sizeof buffer, 0);
        if (size <= 0 || !takeAnswer(buffer, static_cast<std::size_t>(size), address, state))
            return;
    }
}
} // namespace

PeerTcpState readPeerTcpState(const std::string &address) {
    PeerTcpState state;
    for (const unsigned char family : {static_cast<unsigned char>(AF_INET), static_cast<unsigned char>(AF_INET6)})
        readFamily(family, address, state);
    return state;
}

PeerTcpState readTcpState(int fd) {
    PeerTcpState state;
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == established)
        take(info, state);
    return state;
}

PeerVerdict judge(const PeerTcpState &state) {
    if (!state.lastHeard)
        return PeerVerdict::Unknown;
    if (*state.lastHeard < fresh)
        return PeerVerdict::Alive;
    return state.unanswered > 0 && *state.lastHeard > stale ? PeerVerdict::Gone : PeerVerdict::Unknown;
}

std::string addressOfPeer(std::string_view peer) {
    std::string_view host = peer.substr(0, peer.rfind(':'));
    if (host.starts_with('['))
        host = host.substr(1, host.find(']') - 1);
    host = host.substr(0, host.find('%'));
    return std::string(host.starts_with("::ffff:") && host.find('.') != std::string_view::npos ? host.substr(7) : host);
}

} // namespace lockstep::agent
