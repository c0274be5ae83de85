// SPDX-License-Identifier: MIT
#include "queue/queue_origin.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <QFile>

#include "base/command_request.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/unix_socket.h"
#include "nodes/known_places.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

std::string originFile(std::string_view experimentId) {
    return experimentFolder(experimentId).path + "/origin.json";
}

/// Passes on the remote error's text, with the kind of its exit code.
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

std::vector<CommandPrefix> placesOf(const QueueOrigin &origin) {
    CommandPrefix ctl = origin.prefix;
    ctl.agent = origin.ctl;
    return {origin.prefix, ctl};
}

Result<std::optional<QueueOrigin>> readQueueOrigin(std::string_view experimentId) {
    if (!isRunId(experimentId) || !isThere(originFile(experimentId)))
        return std::nullopt;
    const Result<std::string> text = realFileSystem().readAll(originFile(experimentId), largestShortDocument);
    const auto prefix = text ? prefixOfOrigin(*text) : std::nullopt;
    if (!prefix)
        return fail(Error::failed("the queue of " + std::string(experimentId) + " may live on another machine: " +
                                      (text ? originFile(experimentId) + " names none" : text.error().message()),
                                  "correct that file, or remove it if the queue is this machine's"));
    return QueueOrigin{*prefix, documents::valueIn(documents::objectOrNull(*text), "ctl", "lockstepctl")};
}

std::optional<QueueOrigin> queueOriginOf(std::string_view experimentId) {
    return readQueueOrigin(experimentId).value_or(std::nullopt);
}

Result<void> writeQueueOrigin(std::string_view experimentId, const QueueOrigin &origin) {
    if (const Result<void> made = realFileSystem().makeFolders(experimentFolder(experimentId).path); !made)
        return made;
    const Json json = {{"host", origin.prefix.host}, {"agent", origin.prefix.agent}, {"ctl", origin.ctl}};
    if (const Result<void> known = rememberPlaces(placesOf(origin)); !known)
        return known;
    return realFileSystem().writeAtomically(originFile(experimentId), json.dump() + "\n");
}

Result<void> checkPlaces(std::string_view experimentId, const QueueOrigin &origin) {
    const std::vector<CommandPrefix> unknown = unknownOf(placesOf(origin));
    if (unknown.empty())
        return {};
    return fail(unknownPlaces("the queue of " + std::string(experimentId), experimentId, unknown));
}

std::vector<std::string> ctlCommand(const QueueOrigin &origin, const std::vector<std::string> &arguments) {
    return agentCommand(placesOf(origin).back(), arguments);
}

Asked askThere(const QueueOrigin &origin, const std::vector<std::string> &arguments, const std::string &input,
               std::chrono::milliseconds limit, const std::function<Result<void>(const ThereSaid &)> &judge) {
    const auto id = std::ranges::find_if(arguments, [](const std::string &word) { return isRunId(word); });
    if (const Result<void> known = checkPlaces(id == arguments.end() ? "an experiment" : *id, origin); !known)
        return fail(known.error());
    const auto answered = [host = origin.prefix.host, limit, judge](const CommandAnswer &answer) -> Result<void> {
        const std::string tryIt = "try again when the link is back: ssh " + host + " true";
        const ThereSaid said{answer.code, answer.out, answer.err};
        if (answer.end == CommandAnswer::End::NotStarted)
            return fail(Error::badArgument("ssh can't be started", "install openssh-client"));
        if (answer.end == CommandAnswer::End::TimedOut)
            return fail(
                Error::failed(host + " did not answer within " + std::to_string(limit.count() / 1000) + " s", tryIt));
        if (said.code == CommandAnswer::noLink)
            return fail(Error::failed(host + " can't be reached: " + complaintOf(said), tryIt));
        return judge(said);
    };
    return std::make_unique<CommandRequest>(ctlCommand(origin, arguments), input, limit, answered);
}

Result<ThereSaid> runThere(const QueueOrigin &origin, const std::vector<std::string> &arguments,
                           const std::string &input, std::chrono::milliseconds limit) {
    ThereSaid out;
    const Result<void> done =
        waitFor(askThere(origin, arguments, input, limit, [&out](const ThereSaid &said) -> Result<void> {
            out = said;
            return {};
        }));
    return done ? Result<ThereSaid>(std::move(out)) : fail(done.error());
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
    if (const Result<void> known = rememberPlaces(placesOf(origin)); !known)
        return fail(known.error());
    const Result<ThereSaid> said = runThere(origin, {"remote", "hello"});
    if (!said)
        return fail(said.error());
    const std::string &host = prefix.host;
    const std::string wayOut = "copy it there: lockstepctl nodes sync " + host +
                               " (a node that is not in the list: "
                               "lockstepctl nodes add " +
                               host + ", before that)";
    if (said->code == shellFoundNothing || said->code == shellCouldNotRun)
        return fail(Error::badArgument(
            host + " has no lockstepctl at " + origin.ctl + ", which would run the queue there", wayOut, "--queue-on"));
    const Json json = documents::objectOrNull(said->out);
    if (said->code != 0 || !json.is_object() || documents::valueIn(json, "queues", 0) != queueProtocol ||
        !json.contains("agent") || !json["agent"].is_string()) {
        const std::string words = complaintOf(*said);
        return fail(Error::badArgument("lockstepctl on " + host + " can't run a queue for this machine" +
                                           (words.empty() ? "" : " (" + words + ")"),
                                       wayOut, "--queue-on"));
    }
    if (slash == std::string::npos) {
        const auto named = prefixFor(prefix.host, json["agent"].get<std::string>()); // checks it
        if (!named)
            return fail(Error::badArgument("lockstepctl on " + host + " names no agent: " + named.error().what, wayOut,
                                           "--queue-on"));
        origin.prefix.agent = named->agent;
        if (const Result<void> known = rememberPlaces(placesOf(origin));
            !known) // its own, which that machine has just said
            return fail(known.error());
    }
    return origin;
}

std::string toJson(const QueueSnapshot &snapshot) {
    const Json json = {
        {"type", "queue"}, {"owned", snapshot.owned}, {"experiment", Json::parse(toJson(snapshot.experiment))}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<QueueSnapshot> snapshotFromJson(std::string_view line, const QueueOrigin &origin) {
    Json json = documents::objectOrNull(line);
    if (!json.is_object() || documents::valueIn(json, "type", "") != "queue" || !json.contains("experiment"))
        return fail(Error::failed("lockstepctl on " + origin.prefix.host + "'s answer is not a queue",
                                  "update it: lockstepctl nodes sync " + origin.prefix.host));
    const bool owned = documents::valueIn(json, "owned", false);
    const std::string document = json["experiment"].dump();
    json = nullptr; // another machine's may be large: it is held once
    Result<Experiment> experiment = experimentFromJson(document);
    if (!experiment)
        return fail(experiment.error());
    experiment->host = origin.prefix.host;
    experiment->remoteAgent = origin.prefix.agent;
    return QueueSnapshot{std::move(*experiment), owned};
}

Result<void> keepCopy(const QueueSnapshot &snapshot) {
    return writeExperiment(snapshot.experiment);
}

Result<QueueSnapshot> fetchQueue(std::string_view experimentId, const QueueOrigin &origin) {
    const auto said = answered(origin, runThere(origin, {"remote", "document", std::string(experimentId)}));
    if (!said)
        return fail(said.error());
    Result<QueueSnapshot> snapshot = snapshotFromJson(said->out, origin);
    if (snapshot && snapshot->experiment.id != experimentId)
        return fail(Error::failed(origin.prefix.host + " answered about another experiment"));
    if (snapshot)
        if (const auto lock =
                FileLock::acquire(experimentFolder(experimentId).path + "/copy.lock")) // otherwise a viewer writes it
            if (const Result<void> kept = keepCopy(*snapshot); !kept)
                return fail(kept.error());
    return snapshot;
}

Asked askQueueThere(std::string_view experimentId, const QueueOrigin &origin, const QueueRequest &request) {
    QueueRequest command = request;
    command.generation.reset(); // control is per machine
    return askThere(origin, {"remote", "ask", std::string(experimentId)}, toJson(command), answerLimit,
                    [origin](const ThereSaid &said) -> Result<void> {
                        return said.code == 0 ? Result<void>() : fail(refusedThere(origin, said));
                    });
}

} // namespace lockstep::core
