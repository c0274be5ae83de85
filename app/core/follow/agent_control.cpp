#include "follow/agent_control.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <QProcess>

#include "ipc/messages.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {
namespace {

Result<void> writeAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail(Error::system("the run's agent does not listen", errno));
        text.remove_prefix(std::size_t(written));
    }
    return {};
}

/// Reads past what the other side says until it closes.
bool closesWithin(int fd, std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    char ignored[4096];
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd wait{fd, POLLIN, 0};
        const int ready = ::poll(&wait, 1, int(std::max<std::int64_t>(left.count(), 0)));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        if (::recv(fd, ignored, sizeof ignored, 0) <= 0)
            return true;
    }
}

Result<void> askHere(std::string_view run, const Control &control) {
    const Result<std::string> path = runSocketPath(run);
    if (!path)
        return fail(path.error());
    const Result<Fd> fd = connectUnix(*path, false);
    if (!fd)
        return fail(Error::failed("run " + std::string(run) + " does not run: " + fd.error().what));
    Hello hello;
    hello.role = "follower";
    hello.name = control.by;
    hello.pid = getpid();
    hello.nextSeq = std::uint64_t(1) << 62; // wants no line
    if (const Result<void> sent = writeAll(fd->get(), encode(hello) + "\n" + encode(control) + "\n"); !sent)
        return sent;
    // The agent closes when it has read all that we said, so its closing is its answer.
    ::shutdown(fd->get(), SHUT_WR);
    if (!closesWithin(fd->get(), std::chrono::seconds(2)))
        return fail(Error::failed("the agent of run " + std::string(run) + " does not answer",
                                  "ask it with: lockstep-agent " + control.command + " " + std::string(run)));
    return {};
}

Result<void> askElsewhere(const CommandPrefix &prefix, const std::vector<std::string> &arguments) {
    QStringList words;
    for (const std::string &word : agentCommand(prefix, arguments))
        words << QString::fromStdString(word);
    QProcess process;
    process.setStandardInputFile(QProcess::nullDevice());
    process.start(words.takeFirst(), words);
    if (!process.waitForFinished(25'000)) {
        process.kill();
        process.waitForFinished(1000);
        return fail(Error::failed(prefix.host + " did not answer within 25 s", "try again when the link is back"));
    }
    if (process.exitCode() != 0)
        return fail(
            Error::failed((arguments.front() == "stop" ? "stopping on " : "tracing on ") + prefix.host +
                          " failed: " + QString::fromUtf8(process.readAllStandardError()).trimmed().toStdString()));
    return {};
}

} // namespace

Result<void> askToStop(const CommandPrefix &prefix, std::string_view run, std::string_view by) {
    if (prefix.local())
        return askHere(run, Control{"stop", std::string(by)});
    return askElsewhere(prefix, {"stop", std::string(run), "--by", std::string(by)});
}

Result<void> askForTrace(const CommandPrefix &prefix, std::string_view run, std::int64_t steps, std::string_view by) {
    if (prefix.local())
        return askHere(run, Control{"trace", std::string(by), steps});
    return askElsewhere(prefix, {"trace", std::string(run), std::to_string(steps), "--by", std::string(by)});
}

} // namespace lockstep::core
