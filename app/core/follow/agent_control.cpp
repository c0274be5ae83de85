// SPDX-License-Identifier: MIT
#include "follow/agent_control.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <QLocalSocket>

#include "base/command_request.h"
#include "ipc/messages.h"
#include "ipc/run_folder.h"
#include "nodes/known_places.h"

namespace lockstep::core {
namespace {

constexpr int answerHereLimitMs = 2000;

/// One control line to an agent on this machine. The agent closes the connection when it has read the line: that is its answer.
class SocketRequest final : public Request {
public:
    SocketRequest(std::string run, const Control &control) : m_run(std::move(run)), m_control(control) {
        Hello hello;
        hello.role = "follower";
        hello.name = control.by;
        hello.pid = getpid();
        hello.nextSeq = std::uint64_t(1) << 62; // wants no line
        m_lines = QByteArray::fromStdString(encode(hello) + "\n" + encode(control) + "\n");
        connect(&m_socket, &QLocalSocket::connected, this, [this] { m_socket.write(m_lines); });
        connect(&m_socket, &QLocalSocket::bytesWritten, this, [this] {
            if (m_socket.bytesToWrite() == 0)
                ::shutdown(int(m_socket.socketDescriptor()), SHUT_WR);
        });
        connect(&m_socket, &QLocalSocket::readyRead, this, [this] { m_socket.readAll(); });
        connect(&m_socket, &QLocalSocket::disconnected, this, [this] { finish({}); });
        connect(&m_socket, &QLocalSocket::errorOccurred, this, [this](QLocalSocket::LocalSocketError error) {
            if (error != QLocalSocket::PeerClosedError)
                finish(fail(Error::failed("run " + m_run + " does not run: no agent listens for it")));
        });
        connect(&m_limit, &QTimer::timeout, this, [this] {
            finish(fail(Error::failed("the agent of run " + m_run + " does not answer",
                                      "ask it with: lockstep-agent " + m_control.command + " " + m_run)));
        });
        m_limit.setSingleShot(true);
        m_limit.start(answerHereLimitMs);
    }
    ~SocketRequest() override { m_socket.disconnect(this); }

    void connectTo(const std::string &path) { m_socket.connectToServer(QString::fromStdString(path)); }

private:
    std::string m_run;
    Control m_control;
    QByteArray m_lines;
    QLocalSocket m_socket;
    QTimer m_limit;
};

Asked askHere(std::string_view run, const Control &control) {
    const Result<std::string> path = runSocketPath(run);
    if (!path)
        return fail(path.error());
    auto request = std::make_unique<SocketRequest>(std::string(run), control);
    request->connectTo(*path);
    return request;
}

Asked askElsewhere(const CommandPrefix &prefix, const std::vector<std::string> &arguments) {
    if (const std::string &run = arguments[1]; !isKnownPlace(prefix))
        return fail(unknownPlaces("run " + run, run, {prefix}));
    const std::string &asked = arguments.front();
    const std::string doing = asked == "stop"    ? "stopping on "
                              : asked == "trace" ? "tracing on "
                                                 : "asking for the stacks on ";
    const auto judge = [host = prefix.host, doing](const CommandAnswer &answer) -> Result<void> {
        if (answer.end == CommandAnswer::End::TimedOut)
            return fail(noAnswerFrom(host));
        if (answer.end == CommandAnswer::End::NotStarted)
            return fail(Error::failed(doing + host + " failed: ssh can't be started", "install openssh-client"));
        if (answer.code == 0)
            return {};
        const std::string said = QString::fromStdString(answer.err).trimmed().toStdString();
        const bool link = answer.code == CommandAnswer::noLink;
        const std::string why = link ? "the link broke" : "exit code " + std::to_string(answer.code);
        const std::string tryIt = link ? "try again when the link is back: ssh " + host + " true" : std::string();
        return fail(Error::failed(doing + host + " failed: " + (said.empty() ? why : said), tryIt));
    };
    return std::make_unique<CommandRequest>(agentCommand(prefix, arguments), std::string(), answerLimit, judge);
}

} // namespace

Error noAnswerFrom(const std::string &host) {
    return Error::failed(host + " did not answer within " + std::to_string(answerLimit.count()) +
                             " s; whether it was asked is not known",
                         "try again when the link is back: ssh " + host + " true");
}

Asked askToStop(const CommandPrefix &prefix, std::string_view run, std::string_view by, std::string_view experiment) {
    if (!prefix.local()) {
        std::vector<std::string> words = {"stop", std::string(run), "--by", std::string(by)};
        if (!experiment.empty())
            words.insert(words.end(), {"--experiment", std::string(experiment)});
        return askElsewhere(prefix, words);
    }
    if (const Result<void> own = expectRunOf(experiment, runFolder(run)); !own)
        return fail(own.error());
    return askHere(run, Control{"stop", std::string(by)});
}

Asked askForStacks(const CommandPrefix &prefix, std::string_view run, std::string_view by) {
    if (prefix.local())
        return askHere(run, Control{"stacks", std::string(by)});
    return askElsewhere(prefix, {"stacks", std::string(run), "--by", std::string(by)});
}

Asked askForTrace(const CommandPrefix &prefix, std::string_view run, std::int64_t steps, std::string_view by) {
    if (prefix.local())
        return askHere(run, Control{"trace", std::string(by), steps});
    return askElsewhere(prefix, {"trace", std::string(run), std::to_string(steps), "--by", std::string(by)});
}

} // namespace lockstep::core
