// SPDX-License-Identifier: MIT
#include "trainer/report/frame_address.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "ipc/file_system.h"
#include "ipc/frames.h"
#include "ipc/messages.h"

namespace lockstep::trainer {

namespace {

constexpr std::string_view scheme = "tcp://";
using Deadline = std::chrono::steady_clock::time_point;

int leftMs(Deadline until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

Error unreachable(const std::string &address, const std::string &why) {
    return Error::badArgument("can't send frames to " + address + ": " + why,
                              "start lockstepctl listen there first, or give --frames a file");
}

bool waitFor(int fd, short events, Deadline until) {
    pollfd poll{fd, events, 0};
    int ready = 0;
    do
        ready = ::poll(&poll, 1, leftMs(until));
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

Result<Fd> connectTcp(const std::string &address, const std::vector<NetAddress> &at, Deadline until) {
    int error = ETIMEDOUT;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const NetAddress &one = at[i];
        const auto now = std::chrono::steady_clock::now(); // each address gets a share: the next may answer
        const Deadline untilNext = now + (until - now) / static_cast<int>(at.size() - i);
        Fd fd(::socket(one.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (::connect(fd.get(), one.get(), one.length) != 0 && errno != EINPROGRESS) {
            error = errno;
            continue;
        }
        if (!waitFor(fd.get(), POLLOUT, untilNext))
            continue;
        socklen_t size = sizeof error;
        ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0)
            continue;
        const int on = 1, seconds = 5, count = 3; // detects that the listener's machine has vanished
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
        return fd;
    }
    return fail(unreachable(address, std::strerror(error)));
}

/// Reads up to the newline, which is left out, byte by byte, since control lines follow. Empty if none came in time.
std::string readLine(int fd, Deadline until) {
    std::string line;
    for (char byte = 0; line.size() < maxFrameBytes && waitFor(fd, POLLIN, until);) {
        if (::recv(fd, &byte, 1, 0) <= 0 || byte == '\n')
            return line;
        line += byte;
    }
    return {};
}

} // namespace

bool isListener(const std::string &address) {
    return address.starts_with(scheme);
}

Result<std::string> listenerPlace(const std::string &address) {
    const std::string place = address.substr(scheme.size());
    const auto colon = place.rfind(':');
    if (colon == std::string::npos || colon == 0)
        return fail(Error::badArgument("\"" + address + "\" names no listener", "write tcp://HOST:PORT", "--frames"));
    return place;
}

Result<ListenerLink> connectToListener(const std::string &address, const NetAddresses &at, int rank,
                                       std::chrono::milliseconds limit) {
    if (!at)
        return fail(unreachable(address, at.error().message()));
    const Deadline until = std::chrono::steady_clock::now() + limit;
    auto fd = connectTcp(address, *at, until);
    if (!fd)
        return fail(fd.error());
    Hello hello;
    hello.role = "rank";
    hello.rank = rank;
    hello.pid = ::getpid();
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    hello.name = host;
    if (const char *token = std::getenv("LOCKSTEP_FRAMES_TOKEN"))
        hello.token = token;
    const std::string line = encode(hello) + "\n";
    if (::send(fd->get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
        return fail(unreachable(address, std::strerror(errno)));
    const auto answer = decodeHello(readLine(fd->get(), until));
    if (!answer)
        return fail(Error::badArgument(address + ": " + answer.error().message()));
    return ListenerLink{std::move(*fd), answer->nextSeq};
}

Result<std::string> frameFile(const std::string &address, int rank) {
    std::error_code ignored;
    if (!address.ends_with('/') && !std::filesystem::is_directory(address, ignored))
        return address;
    if (const auto made = realFileSystem().makeFolders(address); !made)
        return fail(Error::badArgument("can't write frames into " + address + ": " + made.error().what,
                                       "give --frames a folder you may write to"));
    return address + (address.ends_with('/') ? "" : "/") + "rank-" + std::to_string(rank) + ".ndjson";
}

} // namespace lockstep::trainer
