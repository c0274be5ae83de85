// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/logging.h"
#include "ipc/printable.h"
#include "ipc/regular_file.h"
#include "ipc/socket_folder.h"
#include "trainer/agent/commands/agent_commands.h"
#include "trainer/agent/commands/stdout_pump.h"
#include "trainer/agent/session/run_session.h"

namespace lockstep::agent {

namespace {

constexpr std::size_t longestRequest = 1 << 20;

/// What the serving process reports to the one that was called: a line for stdout, and error messages for stderr.
struct Answer {
    int exitCode = 0;
    std::string line, sentences;
};

Answer refusal(const std::vector<Error> &errors) {
    Answer answer;
    std::string joined;
    for (const Error &error : errors) {
        answer.exitCode = std::max(answer.exitCode, exitCodeOf(error));
        answer.sentences += error.message() + "\n";
        joined += (joined.empty() ? "" : "; ") + error.message();
    }
    nlohmann::ordered_json json;
    json["type"] = "error";
    json["message"] = joined;
    json["exit_code"] = answer.exitCode;
    answer.line = documents::line(json);
    return answer;
}

Answer readyAnswer(Session &session) {
    nlohmann::ordered_json json;
    json["type"] = "ready";
    json["run"] = session.runId();
    json["socket"] = session.socketPath();
    json["pid"] = ::getpid();
    const JoinPoint join = session.joinPoint();
    if (!join.address.empty()) { // only for the agents of the other nodes
        json["join"] = join.address;
        json["token"] = join.token;
    }
    return {0, documents::line(json), ""};
}

Result<std::string> readRequestLine() {
    std::string text;
    char buffer[4096];
    while (text.find('\n') == std::string::npos) {
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text.append(buffer, static_cast<std::size_t>(n));
        if (text.size() > longestRequest)
            return fail(Error::badArgument("the launch request on stdin is longer than 1 MiB", "send one JSON line"));
    }
    text.resize(std::min(text.find('\n'), text.size()));
    if (text.empty())
        return fail(
            Error::badArgument("there is no launch request on stdin", "send one JSON line, or use lockstep-agent run"));
    return text;
}

void say(const Answer &answer) {
    std::fputs(printable(answer.sentences).c_str(), stderr);
    std::printf("%s\n", answer.line.c_str());
    std::fflush(stdout);
}

/// Does everything up to running ranks. Returns null when the answer is a refusal.
std::unique_ptr<Session> startSession(
    LaunchRequest request, Answer &answer, Session::OnConsoleLine onConsoleLine = [](auto &&...) {}) {
    auto keeper = GroupKeeper::start(); // first, so that it inherits neither locks nor sockets
    if (!keeper) {
        answer = refusal({keeper.error()});
        return nullptr;
    }
    if (!request.record.config) {
        answer =
            refusal({Error::badArgument("the launch request has no config", "use lockstep-agent run for a command")});
        return nullptr;
    }
    auto nvml = Nvml::load();
    auto plan = planFromConfig(std::move(request.record), nvml.get(), request.node, request.attended);
    if (!plan) {
        answer = refusal(plan.error());
        return nullptr;
    }
    const auto milliseconds = [](double seconds) {
        return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
    };
    plan->nodes.listenPort = request.joinPort;
    plan->nodes.join = std::move(request.join);
    plan->nodes.token = std::move(request.token);
    plan->nodes.joinLimit = milliseconds(request.joinLimitS);
    plan->nodes.lease = milliseconds(request.leaseS);
    if (request.node > 0 && !isRunId(plan->record.run)) {
        answer = refusal({Error::badArgument("node " + std::to_string(request.node) + " has no run id",
                                             "give the one that agent 0 answered")});
        return nullptr;
    }
    auto session = Session::start(std::move(*plan), std::move(*keeper), std::move(nvml), std::move(onConsoleLine));
    if (!session) {
        answer = refusal({session.error()});
        return nullptr;
    }
    answer = readyAnswer(**session);
    return std::move(*session);
}

void leaveTerminal(const std::string &console) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const Result<Fd> file = openToWrite(console, O_WRONLY | O_APPEND);
    const int log = file ? file->get() : null;
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::close(null);
}

/// Sends the answer as: a line with the exit code, the answer line, error messages.
void sendAnswer(int pipe, const Answer &answer) {
    const std::string text = std::to_string(answer.exitCode) + "\n" + answer.line + "\n" + answer.sentences;
    std::string_view left = text;
    while (!left.empty()) {
        const ssize_t n = ::write(pipe, left.data(), left.size());
        if (n <= 0 && errno != EINTR)
            return;
        left.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
}

Answer receiveAnswer(int pipe) {
    std::string text;
    char buffer[4096];
    for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) {
        n = ::read(pipe, buffer, sizeof buffer);
        if (n > 0)
            text.append(buffer, static_cast<std::size_t>(n));
    }
    const auto first = text.find('\n'), second = first == std::string::npos ? first : text.find('\n', first + 1);
    if (second == std::string::npos)
        return refusal({Error::failed("the agent died before its ranks had started", "see the system's log")});
    return {std::atoi(text.c_str()), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

/// The detached agent's main function, in a process whose parent has already ended.
[[noreturn]] void serveDetached(LaunchRequest request, int pipe) {
    Answer answer;
    auto session = startSession(std::move(request), answer);
    if (session)
        leaveTerminal(session->folder().agentConsole(session->node()));
    sendAnswer(pipe, answer);
    ::close(pipe);
    const int code = session ? session->run().resultCode : answer.exitCode;
    session.reset();
    leaveSocketFolder(); // main() does not return in this process
    ::_exit(code);
}

int serveInForeground(LaunchRequest request) {
    Answer answer;
    auto session = startSession(std::move(request), answer);
    say(answer);
    return session ? session->run().resultCode : answer.exitCode;
}

/// Serves with the launcher at the other end of stdin and stdout: the launcher gets the ranks' output, and the run ends
/// with it.
int serveAttended(LaunchRequest request) {
    Answer answer;
    StdoutPump out;
    const auto session =
        startSession(std::move(request), answer, [&out](int rank, ConsoleTap::Stream, std::string_view line) {
            out.put("[rank " + std::to_string(rank) + "] " + std::string(line));
        });
    say(answer);
    if (!session)
        return answer.exitCode;
    LoggingOptions logging; // keep stderr for the one sentence at the end
    logging.program = "lockstep-agent";
    logging.toStderr = false;
    logging.file = session->folder().agentConsole(session->node());
    setUpLogging(logging);
    EventLoop &loop = session->loop();
    loop.every(std::chrono::milliseconds(50), [&out] { out.flush(); });
    EventLoop::Token input = loop.watch(STDIN_FILENO, EPOLLIN, [&](std::uint32_t) {
        char ignored[4096];
        const ssize_t n = ::read(STDIN_FILENO, ignored, sizeof ignored);
        if (n > 0 || (n < 0 && errno == EINTR))
            return;
        loop.unwatch(input);
        session->stop("the end of the process that started it");
    });
    const RunEnd ending = session->run();
    out.finish();
    session->discard();
    if (!ending.reason.empty())
        std::fprintf(stderr, "%s\n", printable(ending.reason).c_str());
    return ending.resultCode;
}

int detach(LaunchRequest request) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return say(refusal({Error::system("a pipe can't be made", errno)})), 1;
    const pid_t middle = ::fork();
    if (middle == 0) {
        ::close(ends[0]);
        ::setsid();
        // The second fork leaves no session leader, which could acquire a controlling terminal.
        if (::fork() == 0)
            serveDetached(std::move(request), ends[1]);
        ::_exit(0);
    }
    ::close(ends[1]);
    if (middle < 0)
        return say(refusal({Error::system("a process can't be started", errno)})), 1;
    ::waitpid(middle, nullptr, 0);
    const Answer answer = receiveAnswer(ends[0]);
    say(answer);
    return answer.exitCode;
}

} // namespace

int serveCommand() {
    auto text = readRequestLine();
    auto request = text ? launchRequestFromJson(*text) : Result<LaunchRequest>(fail(text.error()));
    if (!request) {
        Error error = request.error();
        error.kind = ErrorKind::BadArgument;
        say(refusal({error}));
        return exitBadArguments;
    }
    if (request->attended)
        return serveAttended(std::move(*request));
    return request->detach ? detach(std::move(*request)) : serveInForeground(std::move(*request));
}

} // namespace lockstep::agent
