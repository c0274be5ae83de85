// SPDX-License-Identifier: MIT
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/messages.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"
#include "ipc/socket_folder.h"
#include "ipc/unix_socket.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/commands/attach_target.h"
#include "trainer/agent/log/run_journal.h"

namespace lockstep::agent {

namespace {

/// write(), since the standard output need not be a socket.
bool printAll(int fd, std::string_view bytes) {
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

/// Reads up to the newline, which is left out, byte by byte: what follows is left for others to read. Empty at the end.
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

/// Copies from the agent to stdout until one of them closes. True when the agent closed, i.e. everything was sent.
bool copyToStdout(int socket) {
    char buffer[65536];
    for (;;) {
        pollfd fds[] = {{socket, POLLIN, 0}, {STDOUT_FILENO, 0, 0}}; // the second one detects that the reader has gone
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
        if (!printAll(STDOUT_FILENO, {buffer, static_cast<std::size_t>(n)}))
            return false;
    }
}

/// Passes everything else that the viewer sends to the agent. The thread ends with the process: a viewer that never
/// closes its end must not keep this process alive.
void forwardStdin(int socket) {
    std::thread([socket] {
        char buffer[4096];
        for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) {
            n = ::read(STDIN_FILENO, buffer, sizeof buffer);
            if (n > 0 && ::send(socket, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n)
                return;
        }
    }).detach();
}

Result<std::uint64_t> nextSeqIn(const std::string &path) {
    std::uint64_t next = 0;
    const auto counted =
        readLog(path, 0, [&](std::string_view line) { next = seqOfSealedLine(line).value_or(next) + 1; });
    if (!counted)
        return fail(counted.error());
    return next;
}

/// Without a living agent the logs themselves are sent; those of other nodes only if the hello asks for them.
int speakForLog(const RunFolder &folder, const std::string &runId, const Hello &hello, bool sayHello) {
    const int own = ownNode(folder);
    Hello answer;
    answer.role = "agent";
    answer.run = runId;
    answer.node = own;
    answer.live = false;
    std::map<int, std::uint64_t> firstSeqs{{own, hello.nextSeq}};
    if (hello.nextSeqs)
        for (const int node : nodesIn(folder))
            if (node != own) {
                const auto asked = hello.nextSeqs->find(node);
                firstSeqs[node] = asked == hello.nextSeqs->end() ? 0 : asked->second;
                if (!answer.nextSeqs)
                    answer.nextSeqs.emplace();
            }
    for (const auto &[node, from] : firstSeqs) {
        const auto next = nextSeqIn(folder.log(node));
        if (!next) {
            std::fprintf(stderr, "%s\n", printable(next.error().message()).c_str());
            return 1;
        }
        (node == own ? answer.nextSeq : (*answer.nextSeqs)[node]) = *next;
    }
    bool open = !sayHello || printAll(STDOUT_FILENO, encode(answer) + "\n");
    std::string out;
    const auto flush = [&] {
        open = open && printAll(STDOUT_FILENO, out);
        out.clear();
    };
    for (const auto &[node, from] : firstSeqs)
        (void)readLog(folder.log(node), from, [&](std::string_view line) {
            out.append(line).push_back('\n');
            if (open && out.size() > (1 << 16))
                flush();
        });
    flush();
    return 0;
}

std::string ownHello(std::uint64_t fromSeq, std::string name) {
    Hello hello;
    hello.role = "follower";
    hello.nextSeq = fromSeq;
    hello.pid = ::getpid();
    hello.name = std::move(name);
    return encode(hello);
}

/// Sends a follower's hello that asks for no log lines, then the control line.
void sendControl(const AttachTarget &target, const Control &control) {
    const std::string lines =
        ownHello(std::uint64_t(1) << 62, "lockstep-agent " + control.command) + "\n" + encode(control) + "\n";
    (void)::send(target.socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL);
}

int refuse(const Error &error, int code) {
    std::fprintf(stderr, "%s\n", printable(error.message()).c_str());
    return code;
}

/// The agent's answer to the hello; empty if the agent was just ending.
std::string introduce(int socket, const std::string &hello) {
    const std::string line = hello + "\n";
    if (::send(socket, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
        return {};
    return readLine(socket);
}

} // namespace

int attachCommand(const std::string &runId, std::optional<std::uint64_t> fromSeq) {
    auto target = AttachTarget::find(runId);
    if (!target)
        return refuse(target.error(), 2);
    const std::string helloLine = fromSeq ? ownHello(*fromSeq, "lockstep-agent attach") : readLine(STDIN_FILENO);
    const auto hello = decodeHello(helloLine);
    if (!hello) {
        printAll(STDOUT_FILENO, fromSeq ? "" : encodeProtocolError(hello.error().message()) + "\n");
        return refuse(Error::badArgument("stdin should begin with a follower's hello: " + hello.error().message(),
                                         "use --from-seq N to print the log"),
                      2);
    }
    while (target && target->socket.valid()) {
        const std::string answer = introduce(target->socket.get(), helloLine);
        if (answer.empty()) { // the agent ended before it answered: find out again
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            target = AttachTarget::find(runId);
            continue;
        }
        if (const auto agent = decodeHello(answer); fromSeq && !agent)
            return refuse(agent.error(), 1);
        if (!fromSeq) {
            printAll(STDOUT_FILENO, answer + "\n");
            forwardStdin(target->socket.get());
        }
        copyToStdout(target->socket.get());
        leaveSocketFolder();
        ::_exit(0); // the thread that reads stdin may wait for ever
    }
    if (!target)
        return refuse(target.error(), 2);
    return speakForLog(target->folder, runId, *hello, !fromSeq);
}

int stopCommand(const std::string &runId, const std::string &by, const std::string &experiment) {
    auto target = AttachTarget::find(runId);
    if (!target)
        return refuse(target.error(), 2);
    if (const Result<void> own = expectRunOf(experiment, target->folder); !own)
        return refuse(own.error(), 1);
    const auto ended = [&] {
        std::printf("run %s: %s\n", runId.c_str(), printable(readRunStatus(target->folder).sentence).c_str());
        return 0;
    };
    if (!target->socket.valid()) {
        using Kind = RunStatus::Kind;
        const RunStatus status = readRunStatus(target->folder);
        if (status.kind == Kind::Unknown && !isThere(target->folder.result()))
            return refuse(Error::failed("run " + runId + " can't be stopped from here: it is shown " + status.sentence,
                                        "stop it where its agent runs"),
                          1);
        if (status.kind == Kind::Running || status.kind == Kind::Starting)
            return refuse(Error::failed("run " + runId + " was not asked to stop: it is " + status.sentence +
                                        ", but no agent listens for it here"),
                          1);
        return ended();
    }
    sendControl(*target, {"stop", by}); // the agent closes the connection when the run is over
    constexpr auto patience = std::chrono::seconds(20);
    const auto until = std::chrono::steady_clock::now() + patience;
    char buffer[4096];
    while (std::chrono::steady_clock::now() < until) {
        pollfd poll{target->socket.get(), POLLIN, 0};
        if (::poll(&poll, 1, 200) > 0 && ::recv(poll.fd, buffer, sizeof buffer, 0) <= 0)
            return ended();
    }
    std::fprintf(stderr,
                 "run %s did not end within 20 s of the stop; its agent may hang: if you kill it, its ranks end too\n",
                 runId.c_str());
    return 1;
}

int askCommand(const std::string &runId, const Control &control) {
    auto target = AttachTarget::find(runId);
    if (!target)
        return refuse(target.error(), 2);
    if (!target->socket.valid())
        return refuse(Error::failed("run " + runId + " does not run: " + readRunStatus(target->folder).sentence), 1);
    sendControl(*target, control);
    // The agent closes the connection when it has read everything: that is its answer.
    ::shutdown(target->socket.get(), SHUT_WR);
    if (const auto hello = decodeHello(readLine(target->socket.get())); !hello)
        return refuse(Error::failed("the agent of run " + runId + " does not answer: " + hello.error().message()), 1);
    if (const std::string more = readLine(target->socket.get()); !more.empty())
        if (const auto refused = decodeHello(more); !refused) // decodeHello() also decodes a protocol error
            return refuse(refused.error(), 1);
    return 0;
}

} // namespace lockstep::agent
