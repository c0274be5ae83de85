// SPDX-License-Identifier: MIT
// remote: the commands that lockstepctl on another machine runs here by ssh, for a queue of this machine
// (queue/queue_origin.h).
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QCoreApplication>
#include <QSocketNotifier>
#include <QTimer>

#include "commands.h"
#include "ipc/documents.h"
#include "launch/detached_start.h"
#include "output.h"
#include "queue/queue_origin.h"
#include "standard_input.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;
using Kind = core::QueueRequest::Kind;
constexpr int pollMs = 200, leaseMs = 20'000;
constexpr qsizetype largestLine = 8 << 20;

/// The queue's snapshot; refuses a queue that is itself on another machine.
Result<core::QueueSnapshot> snapshotOf(const std::string &id) {
    if (const auto origin = core::queueOriginOf(id))
        return fail(Error::badArgument("the queue of " + id + " is on " + origin->prefix.host, "use that machine"));
    auto experiment = core::readExperiment(id);
    if (!experiment)
        return fail(experiment.error());
    return core::QueueSnapshot{std::move(*experiment), core::isOwned(id)};
}

bool wantsOwner(Kind kind) {
    return kind == Kind::Resume || kind == Kind::Retry || kind == Kind::Add || kind == Kind::Repeat;
}

/// Prints the queue whenever it changes and reads requests from stdin, until stdin closes or is silent for too long.
class QueueReporter : public QObject {
public:
    explicit QueueReporter(std::string id) : m_id(std::move(id)) {
        connect(&m_poll, &QTimer::timeout, this, &QueueReporter::poll);
        connect(&m_stdin, &QSocketNotifier::activated, this, &QueueReporter::readStdin);
        connect(&m_lease, &QTimer::timeout, this, [] { // a cut link does not close stdin
            QCoreApplication::exit(complain(Error::failed("nothing was heard for 20 s")));
        });
        m_lease.start(leaseMs);
        m_poll.start(pollMs);
        QMetaObject::invokeMethod(this, &QueueReporter::poll, Qt::QueuedConnection);
    }

private:
    void poll() {
        const std::string stamp = core::experimentStamp(m_id);
        const bool owned = core::isOwned(m_id);
        if (stamp == m_stamp && owned == m_owned)
            return;
        const auto snapshot = snapshotOf(m_id);
        if (!snapshot)
            return QCoreApplication::exit(complain(snapshot.error()));
        m_stamp = stamp;
        m_owned = owned;
        print(core::toJson(*snapshot));
        if (std::ferror(stdout))
            QCoreApplication::exit(Failed);
    }

    void readStdin() {
        char bytes[65536];
        const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (n <= 0 || m_bytes.size() > largestLine)
            return QCoreApplication::exit(Done);
        m_lease.start(leaseMs);
        m_bytes.append(bytes, n);
        for (qsizetype end = m_bytes.indexOf('\n'); end >= 0; end = m_bytes.indexOf('\n')) {
            const std::string line = m_bytes.left(end).toStdString();
            m_bytes.remove(0, end + 1);
            m_lines.push_back(documents::objectOrNull(line));
        }
        takeNext();
    }

    /// One request at a time: without an owner the queue is changed under its lock, and a run's agent may delay that.
    void takeNext() {
        while (!m_asked && !m_lines.empty()) {
            const Json line = std::move(m_lines.front());
            m_lines.pop_front();
            if (line.is_object() && line.contains("request"))
                take(line);
        }
    }

    void take(const Json &line) {
        const int number = documents::valueIn(line, "number", 0);
        const auto request = core::queueRequestFromJson(line["request"].dump());
        if (!request)
            return answer(number, {},
                          fail(Error::badArgument("the request is not valid", "update both machines to one version")));
        core::Asked asked = core::askQueue(m_id, *request);
        if (!asked)
            return answer(number, request->kind, fail(asked.error()));
        if (!*asked)
            return answer(number, request->kind, {});
        m_asked = std::move(*asked);
        connect(m_asked.get(), &core::Request::finished, this, [this, number, kind = request->kind] {
            answer(number, kind, m_asked->result());
            m_asked.release()->deleteLater();
            takeNext();
        });
    }

    void answer(int number, std::optional<Kind> kind, const Result<void> &asked) {
        Json answer = {{"type", "answer"}, {"number", number}};
        if (!asked)
            answer["error"] = asked.error().message();
        print(answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
        if (asked && kind && wantsOwner(*kind) && !core::isOwned(m_id)) {
            m_start = std::make_unique<core::DetachedStart>();
            connect(m_start.get(), &core::DetachedStart::failed, this, [](const Error &error) { complain(error); });
            m_start->resumeQueue(m_id);
        }
        poll();
    }

    std::string m_id, m_stamp;
    bool m_owned = false;
    QByteArray m_bytes;
    std::deque<Json> m_lines;               ///< requests not handled yet
    std::unique_ptr<core::Request> m_asked; ///< the pending one
    QTimer m_poll, m_lease;
    QSocketNotifier m_stdin{STDIN_FILENO, QSocketNotifier::Read};
    std::unique_ptr<core::DetachedStart> m_start;
};

} // namespace

int remoteHelloCommand() {
    const auto agent = core::findAgent();
    if (!agent)
        return complain(agent.error());
    print(Json{{"queues", core::queueProtocol}, {"version", LOCKSTEP_VERSION}, {"agent", *agent}}.dump() + "\n");
    return Done;
}

int remoteDocumentCommand(const std::string &experiment) {
    const auto snapshot = snapshotOf(experiment);
    if (!snapshot)
        return complain(snapshot.error());
    print(core::toJson(*snapshot));
    return Done;
}

int remoteFollowCommand(const std::string &experiment) {
    if (const auto snapshot = snapshotOf(experiment); !snapshot)
        return complain(snapshot.error());
    const QueueReporter reporter(experiment);
    return QCoreApplication::exec();
}

int remoteAskCommand(const std::string &experiment) {
    if (const auto snapshot = snapshotOf(experiment); !snapshot)
        return complain(snapshot.error());
    const Result<std::string> text = standardInput();
    if (!text)
        return complain(text.error());
    const auto request = core::queueRequestFromJson(*text);
    if (!request)
        return complain(
            Error::badArgument("the request is not valid", "update both machines to one version of Lockstep"));
    if (const auto asked = core::requestQueue(experiment, *request); !asked)
        return complain(asked.error());
    return wantsOwner(request->kind) ? goOn(experiment) : Done;
}

} // namespace lockstep::cli
