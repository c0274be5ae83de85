#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "ipc/line_framer.h"
#include "ipc/log.h"
#include "ipc/messages.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/attach_target.h"
#include "trainer/agent/commands.h"

namespace lockstep::agent {

namespace {

bool writeAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Up to and without the newline, byte by byte: what follows is somebody else's to read. Empty at the end.
std::string readLine(int fd) {
    std::string line;
    for (char byte = 0; line.size() < maxFrameBytes;) {
        const ssize_t n = ::read(fd, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || byte == '\n')
            return line;
        line += byte;
    }
    return line;
}

/// Agent to stdout until either is gone. True when the agent closed, that is, all was sent.
bool copyToStdout(int socket) {
    char buffer[65536];
    for (;;) {
        pollfd fds[] = {{socket, POLLIN, 0}, {STDOUT_FILENO, 0, 0}}; // the second only for a reader that has gone
        if (::poll(fds, 2, -1) < 0 && errno != EINTR)
            return false;
        if (fds[1].revents & (POLLERR | POLLNVAL))
            return false;
        if (fds[0].revents == 0)
            continue;
        const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        if (!writeAll(STDOUT_FILENO, {buffer, static_cast<std::size_t>(n)}))
            return false;
    }
}

int bridge(Fd socket) {
    // Its end is the process's end: a reader that never closes stdin must not keep us.
    std::thread([fd = socket.get()] {
        char buffer[4096];
        for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) {
            n = ::read(STDIN_FILENO, buffer, sizeof buffer);
            if (n > 0 && ::send(fd, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n)
                return;
        }
    }).detach();
    copyToStdout(socket.get());
    std::fflush(stdout);
    ::_exit(0);
}

int printLines(const Fd &socket, std::uint64_t fromSeq) {
    Hello hello;
    hello.role = "follower";
    hello.nextSeq = fromSeq;
    hello.pid = ::getpid();
    hello.name = "lockstep-agent attach";
    const std::string line = encode(hello) + "\n";
    if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
        return 1;
    const auto answer = decodeHello(readLine(socket.get()));
    if (!answer) {
        std::fprintf(stderr, "%s\n", answer.error().message().c_str());
        return 1;
    }
    copyToStdout(socket.get());
    return 0;
}

/// No agent lives: the log itself answers.
int speakForLog(const RunFolder &folder, const std::string &runId, std::optional<std::uint64_t> fromSeq) {
    std::uint64_t first = fromSeq.value_or(0);
    if (!fromSeq) {
        const auto hello = decodeHello(readLine(STDIN_FILENO));
        if (!hello) {
            writeAll(STDOUT_FILENO, encodeProtocolError(hello.error().message()) + "\n");
            std::fprintf(stderr, "%s; send a follower's hello on stdin or use --from-seq N\n",
                         hello.error().message().c_str());
            return 2;
        }
        first = hello->nextSeq;
    }
    std::uint64_t next = 0;
    auto counted = readLog(folder.log(0), 0, [&](std::string_view) { ++next; });
    if (!counted) {
        std::fprintf(stderr, "%s\n", counted.error().message().c_str());
        return 1;
    }
    for (const LogGap &gap : counted->gaps)
        next = std::max(next + gap.count(), gap.lastSeq + 1);
    Hello answer;
    answer.role = "agent";
    answer.run = runId;
    answer.node = 0;
    answer.nextSeq = next;
    answer.live = false;
    bool open = fromSeq || writeAll(STDOUT_FILENO, encode(answer) + "\n");
    std::string out;
    const auto flush = [&] {
        open = open && writeAll(STDOUT_FILENO, out);
        out.clear();
    };
    (void)readLog(folder.log(0), first, [&](std::string_view line) {
        out.append(line).push_back('\n');
        if (open && out.size() > (1 << 16))
            flush();
    });
    flush();
    return 0;
}

} // namespace

int attachCommand(const std::string &runId, std::optional<std::uint64_t> fromSeq) {
    auto target = AttachTarget::find(runId);
    if (!target) {
        std::fprintf(stderr, "%s\n", target.error().message().c_str());
        return 2;
    }
    if (!target->socket.valid())
        return speakForLog(target->folder, runId, fromSeq);
    return fromSeq ? printLines(target->socket, *fromSeq) : bridge(std::move(target->socket));
}

int stopCommand(const std::string &runId, const std::string &by) {
    auto target = AttachTarget::find(runId);
    if (!target) {
        std::fprintf(stderr, "%s\n", target.error().message().c_str());
        return 2;
    }
    const auto ended = [&] {
        std::printf("run %s: %s\n", runId.c_str(), readRunStatus(target->folder).sentence.c_str());
        return 0;
    };
    if (!target->socket.valid())
        return ended();
    Hello hello;
    hello.role = "follower";
    hello.nextSeq = std::uint64_t(1) << 62; // of the log it wants nothing: the agent closes when all is over
    hello.pid = ::getpid();
    hello.name = "lockstep-agent stop";
    const std::string lines = encode(hello) + "\n" + encode(Control{"stop", by}) + "\n";
    (void)::send(target->socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL);
    constexpr auto patience = std::chrono::seconds(20);
    const auto until = std::chrono::steady_clock::now() + patience;
    char buffer[4096];
    while (std::chrono::steady_clock::now() < until) {
        pollfd poll{target->socket.get(), POLLIN, 0};
        if (::poll(&poll, 1, 200) > 0 && ::recv(poll.fd, buffer, sizeof buffer, 0) <= 0)
            return ended();
    }
    std::fprintf(stderr,
                 "run %s did not end within 20 s of the stop; its agent may hang: end it and its ranks go too\n",
                 runId.c_str());
    return 1;
}

} // namespace lockstep::agent
