// remote: what lockstepctl on another machine asks of this one, by ssh, about a queue that lives here (launch/queue_origin.h).
#include <cstdio>
#include <iostream>
#include <iterator>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QCoreApplication>
#include <QSocketNotifier>
#include <QTimer>

#include "commands.h"
#include "launch/detached_start.h"
#include "launch/queue_origin.h"
#include "output.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;
using Kind = core::QueueRequest::Kind;
constexpr int lookMs = 200, leaseMs = 20'000;
constexpr qsizetype largestLine = 8 << 20;

/// The queue as it stands; one that is itself kept elsewhere is refused: nobody is sent on.
Result<core::QueueSight> sightOf(const std::string &id) {
    if (const auto origin = core::queueOriginOf(id))
        return fail(Error::badArgument("the queue of " + id + " lives on " + origin->prefix.host, "ask there"));
    auto experiment = core::readExperiment(id);
    if (!experiment)
        return fail(experiment.error());
    return core::QueueSight{std::move(*experiment), core::isOwned(id)};
}

bool wantsOwner(const core::QueueRequest &request) {
    return request.kind == Kind::Resume || request.kind == Kind::Retry || request.kind == Kind::Add;
}

/// Tells of a queue whenever it changes, and takes what is asked of it on stdin, until that ends or is silent for too long.
class QueueTeller : public QObject {
public:
    explicit QueueTeller(std::string id) : m_id(std::move(id)) {
        connect(&m_look, &QTimer::timeout, this, &QueueTeller::look);
        connect(&m_stdin, &QSocketNotifier::activated, this, &QueueTeller::readStdin);
        connect(&m_lease, &QTimer::timeout, this, [] { // a link that was cut tells nobody of its end
            QCoreApplication::exit(complain(Error::failed("nothing was heard for 20 s")));
        });
        m_lease.start(leaseMs);
        m_look.start(lookMs);
        QMetaObject::invokeMethod(this, &QueueTeller::look, Qt::QueuedConnection);
    }

private:
    void look() {
        const std::string stamp = core::experimentStamp(m_id);
        const bool owned = core::isOwned(m_id);
        if (stamp == m_stamp && owned == m_owned)
            return;
        const auto sight = sightOf(m_id);
        if (!sight)
            return QCoreApplication::exit(complain(sight.error()));
        m_stamp = stamp;
        m_owned = owned;
        print(core::toJson(*sight));
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
            take(Json::parse(line, nullptr, false));
        }
    }

    void take(const Json &line) {
        if (!line.is_object() || !line.contains("request"))
            return;
        Json answer = {{"type", "answer"}, {"number", line.value("number", 0)}};
        const auto request = core::queueRequestFromJson(line["request"].dump());
        const Result<void> asked =
            request ? core::requestQueue(m_id, *request)
                    : fail(Error::badArgument("the request is not understood", "bring both machines to one version"));
        if (!asked)
            answer["error"] = asked.error().message();
        print(answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
        if (asked && wantsOwner(*request) && !core::isOwned(m_id)) {
            m_start = std::make_unique<core::DetachedStart>();
            connect(m_start.get(), &core::DetachedStart::failed, this, [](const Error &error) { complain(error); });
            m_start->takeUp(m_id);
        }
        look();
    }

    std::string m_id, m_stamp;
    bool m_owned = false;
    QByteArray m_bytes;
    QTimer m_look, m_lease;
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
    const auto sight = sightOf(experiment);
    if (!sight)
        return complain(sight.error());
    print(core::toJson(*sight));
    return Done;
}

int remoteFollowCommand(const std::string &experiment) {
    if (const auto sight = sightOf(experiment); !sight)
        return complain(sight.error());
    const QueueTeller teller(experiment);
    return QCoreApplication::exec();
}

int remoteAskCommand(const std::string &experiment) {
    if (const auto sight = sightOf(experiment); !sight)
        return complain(sight.error());
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto request = core::queueRequestFromJson(text);
    if (!request)
        return complain(
            Error::badArgument("the request is not understood", "bring both machines to one version of Lockstep"));
    if (const auto asked = core::requestQueue(experiment, *request); !asked)
        return complain(asked.error());
    return wantsOwner(*request) ? goOn(experiment) : Done;
}

} // namespace lockstep::cli
