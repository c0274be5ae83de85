#include "launch/queue_origin.h"

#include <nlohmann/json.hpp>
#include <QFile>
#include <QProcess>

#include "ipc/file_system.h"
#include "ipc/unix_socket.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr int linkFailed = 255;

std::string originFile(std::string_view experimentId) {
    return experimentFolder(experimentId).path + "/origin.json";
}

/// A sentence that ended elsewhere is given on as it was said, as the error of its exit code's kind.
Error refusedThere(const QueueOrigin &origin, const ThereSaid &said) {
    const std::string words = complaintOf(said);
    return Error{"on " + origin.prefix.host + ": " +
                     (words.empty() ? "lockstepctl ended with exit code " + std::to_string(said.code) : words),
                 {},
                 said.code == 2 ? ErrorKind::BadArgument : ErrorKind::Failed,
                 {}};
}

/// The answer, or why there is none.
Result<ThereSaid> answered(const QueueOrigin &origin, Result<ThereSaid> said) {
    if (said && said->code != 0)
        return fail(refusedThere(origin, *said));
    return said;
}

} // namespace

std::optional<QueueOrigin> queueOriginOf(std::string_view experimentId) {
    if (!isRunId(experimentId) || !QFile::exists(QString::fromStdString(originFile(experimentId))))
        return std::nullopt;
    const Result<std::string> text = realFileSystem().readAll(originFile(experimentId));
    const auto prefix = text ? prefixOfOrigin(*text) : std::nullopt;
    if (!prefix)
        return std::nullopt;
    const Json json = Json::parse(*text);
    const bool named = json.contains("ctl") && json["ctl"].is_string();
    return QueueOrigin{*prefix, named ? json["ctl"].get<std::string>() : "lockstepctl"};
}

Result<void> writeQueueOrigin(std::string_view experimentId, const QueueOrigin &origin) {
    if (const Result<void> made = realFileSystem().makeFolders(experimentFolder(experimentId).path); !made)
        return made;
    const Json json = {{"host", origin.prefix.host}, {"agent", origin.prefix.agent}, {"ctl", origin.ctl}};
    return realFileSystem().writeAtomically(originFile(experimentId), json.dump() + "\n");
}

std::vector<std::string> ctlCommand(const QueueOrigin &origin, const std::vector<std::string> &arguments) {
    CommandPrefix prefix = origin.prefix;
    prefix.agent = origin.ctl;
    return agentCommand(prefix, arguments);
}

Result<ThereSaid> runThere(const QueueOrigin &origin, const std::vector<std::string> &arguments,
                           const std::string &input, int limitMs) {
    QStringList words;
    for (const std::string &word : ctlCommand(origin, arguments))
        words << QString::fromStdString(word);
    QProcess process;
    process.start(words.takeFirst(), words);
    process.write(input.data(), qint64(input.size()));
    process.closeWriteChannel();
    const std::string &host = origin.prefix.host;
    if (!process.waitForFinished(limitMs)) {
        const bool started = process.error() != QProcess::FailedToStart;
        process.kill();
        process.waitForFinished(1000);
        if (!started)
            return fail(Error::badArgument("ssh can't be started", "install openssh-client"));
        return fail(Error::failed(host + " did not answer within " + std::to_string(limitMs / 1000) + " s",
                                  "try again when the link is back: ssh " + host + " true"));
    }
    ThereSaid said{process.exitStatus() == QProcess::NormalExit ? process.exitCode() : linkFailed,
                   process.readAllStandardOutput().toStdString(), process.readAllStandardError().toStdString()};
    if (said.code == linkFailed)
        return fail(Error::failed(host + " can't be reached: " + complaintOf(said),
                                  "try again when the link is back: ssh " + host + " true"));
    return said;
}

std::string complaintOf(const ThereSaid &said) {
    std::string out;
    for (QString line : QString::fromStdString(said.err).split(u'\n', Qt::SkipEmptyParts)) {
        if (line.startsWith(u"lockstepctl: "))
            line.remove(0, 13);
        out += (out.empty() ? "" : "; ") + line.trimmed().toStdString();
    }
    return out;
}

Result<QueueOrigin> queueHostAt(const CommandPrefix &prefix) {
    const auto slash = prefix.agent.rfind('/');
    QueueOrigin origin{prefix,
                       slash == std::string::npos ? "lockstepctl" : prefix.agent.substr(0, slash + 1) + "lockstepctl"};
    const Result<ThereSaid> said = runThere(origin, {"remote", "hello"});
    if (!said)
        return fail(said.error());
    const std::string &host = prefix.host;
    const std::string wayOut = "bring it there: lockstepctl nodes sync " + host +
                               " (a node that is not in the list: "
                               "lockstepctl nodes add " +
                               host + ", before that)";
    if (said->code == shellFoundNothing || said->code == shellCouldNotRun)
        return fail(
            Error::badArgument(host + " has no lockstepctl at " + origin.ctl + ", which would keep the queue there",
                               wayOut, "--queue-on"));
    const Json json = Json::parse(said->out, nullptr, false);
    if (said->code != 0 || !json.is_object() || json.value("queues", 0) != queueProtocol || !json.contains("agent") ||
        !json["agent"].is_string()) {
        const std::string words = complaintOf(*said);
        return fail(Error::badArgument("lockstepctl on " + host + " can't keep a queue for this one" +
                                           (words.empty() ? "" : " (" + words + ")"),
                                       wayOut, "--queue-on"));
    }
    if (slash == std::string::npos)
        origin.prefix.agent = json["agent"].get<std::string>();
    return origin;
}

std::string toJson(const QueueSight &sight) {
    const Json json = {
        {"type", "queue"}, {"owned", sight.owned}, {"experiment", Json::parse(toJson(sight.experiment))}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<QueueSight> sightFromJson(std::string_view line, const QueueOrigin &origin) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || json.value("type", "") != "queue" || !json.contains("experiment"))
        return fail(Error::failed("lockstepctl on " + origin.prefix.host + " answered with something else than a queue",
                                  "bring this version there: lockstepctl nodes sync " + origin.prefix.host));
    Result<Experiment> experiment = experimentFromJson(json["experiment"].dump());
    if (!experiment)
        return fail(experiment.error());
    experiment->host = origin.prefix.host;
    experiment->remoteAgent = origin.prefix.agent;
    return QueueSight{std::move(*experiment), json.value("owned", false)};
}

Result<void> keepCopy(const QueueSight &sight) {
    return writeExperiment(sight.experiment);
}

Result<QueueSight> lookAtQueue(std::string_view experimentId, const QueueOrigin &origin) {
    const auto said = answered(origin, runThere(origin, {"remote", "document", std::string(experimentId)}));
    if (!said)
        return fail(said.error());
    Result<QueueSight> sight = sightFromJson(said->out, origin);
    if (sight && sight->experiment.id != experimentId)
        return fail(Error::failed(origin.prefix.host + " answered about another experiment"));
    if (sight)
        if (const auto lock =
                FileLock::acquire(experimentFolder(experimentId).path + "/copy.lock")) // else a viewer keeps it
            if (const Result<void> kept = keepCopy(*sight); !kept)
                return fail(kept.error());
    return sight;
}

Result<void> askQueueThere(std::string_view experimentId, const QueueOrigin &origin, const QueueRequest &request) {
    QueueRequest command = request;
    command.generation.reset(); // of the seat here, which is not the one there
    const auto said = answered(origin, runThere(origin, {"remote", "ask", std::string(experimentId)}, toJson(command)));
    return said ? Result<void>() : fail(said.error());
}

} // namespace lockstep::core
