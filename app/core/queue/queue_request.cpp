// SPDX-License-Identifier: MIT
#include "queue/queue_request.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <QDeadlineTimer>
#include <QDir>
#include <QEventLoop>
#include <QFileInfo>
#include <QTimer>

#include "experiment/claims_json_detail.h"
#include "experiment/more_rounds.h"
#include "experiment/place_limit.h"
#include "follow/agent_control.h"
#include "ipc/documents.h"
#include "ipc/file_lock.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/messages.h"
#include "ipc/run_title.h"
#include "ipc/unix_socket.h"
#include "ipc/write_place.h"
#include "launch/nodes_launcher.h"
#include "queue/control_seat.h"
#include "queue/queue_origin.h"
#include "queue/queue_run.h"
#include "queue/slurm/slurm_experiment.h"
#include "store/run_notes.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;
constexpr int maxAddedRepeats = 100;
constexpr std::size_t mostRequestsAtOnce = 1000;
constexpr std::size_t mostRequestBytesAtOnce = 16 << 20;
constexpr std::chrono::milliseconds takenLimit{5000}, takenPoll{50}; ///< an owner looks several times a second
constexpr std::array<std::string_view, 8> kindNames = {"stop",  "pause", "resume", "skip",
                                                       "retry", "move",  "add",    "repeat"};

Error wrongState(const ExperimentEntry &entry, const std::string &wish, const std::string &wayOut) {
    return Error::badArgument(
        entry.planned.name + " can't be " + wish + ": it is " + std::string(toString(entry.state)), wayOut);
}

Result<void> skip(ExperimentEntry &entry, const std::string &by) {
    if (isOver(entry.state))
        return fail(wrongState(entry, "skipped", "only a queued run or the current one can"));
    if (entry.state == EntryState::Queued) {
        entry.state = EntryState::NotRun;
        entry.reason = "skipped by " + by;
    }
    return {};
}

Result<void> retry(Experiment &experiment, int number, bool alone) {
    ExperimentEntry &entry = experiment.entries[std::size_t(number)];
    if (!isOver(entry.state) || !entry.planned.runnable())
        return fail(wrongState(entry, "run again",
                               entry.planned.runnable() ? "wait until it is over" : entry.planned.notRunReason));
    if (!entry.run.empty())
        entry.earlierRuns.push_back(entry.run);
    entry.run.clear();
    entry.placed.reset();
    entry.reason.clear();
    entry.interruptions = 0;
    entry.state = EntryState::Queued;
    entry.alone = alone;
    return {};
}

Result<void> move(Experiment &experiment, int entry, int to) {
    std::vector<int> order = experiment.queued();
    const auto found = std::find(order.begin(), order.end(), entry);
    if (found == order.end())
        return fail(wrongState(experiment.entries[std::size_t(entry)], "moved", "only queued runs can"));
    order.erase(found);
    order.insert(order.begin() + std::clamp(to, 0, int(order.size())), entry);
    experiment.setQueued(order);
    return {};
}

std::string ownName(const Experiment &experiment, const std::string &wanted) {
    std::set<std::string_view> taken;
    for (const ExperimentEntry &entry : experiment.entries)
        taken.insert(entry.planned.name);
    std::string name = wanted;
    for (int number = 2; taken.contains(name); ++number)
        name = cutTitle(wanted + " (" + std::to_string(number) + ")");
    return name;
}

Result<void> add(Experiment &experiment, const PlannedRun &added, DocumentRoom *room) {
    if (added.repeats < 1 || added.repeats > maxAddedRepeats)
        return fail(Error::badArgument(std::to_string(added.repeats) + " repeats of " + added.name + " can't be added",
                                       "ask for 1 to " + std::to_string(maxAddedRepeats)));
    if (added.note.size() > largestNotes)
        return fail(
            Error::badArgument("the note of " + added.name + " has " + std::to_string(added.note.size()) + " bytes",
                               "write at most " + std::to_string(largestNotes)));
    if (const std::vector<Error> mistakes = validate(added.config); !mistakes.empty())
        return fail(mistakes.front());
    const auto repeats = std::size_t(added.repeats);
    if (const Result<void> few = roomFor(experiment, repeats, repeats * placeCount(added.config)); !few)
        return few;
    for (std::size_t i = 0; i < experiment.entries.size(); ++i)
        if (const PlannedRun &there = experiment.entries[i].planned;
            there.config == added.config && there.command == added.command && there.claims == added.claims)
            return fail(Error::badArgument(
                there.name + ", run " + std::to_string(i + 1) + " of the experiment, is already the same run",
                "lockstepctl retry " + experiment.id + " " + std::to_string(i + 1) + " runs it again"));
    if (room)
        if (const Result<void> taken = room->takeRun(added, repeats); !taken)
            return taken;
    PlannedRun planned = added;
    planned.name = ownName(experiment, added.name);
    for (planned.repeat = 1; planned.repeat <= added.repeats; ++planned.repeat) {
        experiment.entries.emplace_back();
        experiment.entries.back().planned = planned;
    }
    return {};
}

/// Makes the queue longer, unless nobody could read it then. With `room` the change takes what it needs of it, or changes nothing.
Result<void> lengthen(Experiment &experiment, const DocumentRoom *room,
                      const std::function<Result<void>(Experiment &)> &change) {
    if (room)
        return change(experiment);
    Experiment longer = experiment;
    Result<void> done = change(longer);
    if (done)
        done = documentOf(longer).map([](const std::string &) {});
    if (done)
        experiment = std::move(longer);
    return done;
}

/// A whole number of a request, which may leave it out. One that does not fit would become another.
template <class T> T wholeIn(const Json &json, const char *key, T otherwise) {
    if (!json.contains(key))
        return otherwise;
    const auto number = documents::optionalIn<T>(json, key);
    if (!number)
        throw std::out_of_range(key);
    return *number;
}

/// A request that is carried out here because nobody owns the queue, after those that its last owner did not take: under its
/// lock, so that nobody resumes it meanwhile.
struct OwnerlessChange {
    std::optional<FileLock> lock;
    Experiment experiment;
    QueueRequest request;
    std::vector<PendingRequest> before = {}; ///< oldest first
    std::optional<DocumentRoom> room = {};   ///< with requests before it: for what they all add

    /// Writes the queue after its runs were asked to stop, with this result.
    Result<void> write(const Result<void> &asked) {
        const auto unlocked = std::exchange(lock, std::nullopt); // released when this function returns
        for (const PendingRequest &one : before)
            experiment.taken.push_back(one.name);
        if (!before.empty())
            room.emplace(experiment);
        for (const PendingRequest &one : before)
            if (const Result<void> done = carryOut(one.request, asked); !done)
                logWarning(done.error().message());
        const Result<void> done = carryOut(request, asked);
        if (const Result<void> written = writeExperiment(experiment); !written)
            return written;
        for (const PendingRequest &one : before)
            forgetRequest(experimentFolder(experiment.id), one.name);
        return done ? asked : done;
    }

    Result<void> carryOut(const QueueRequest &one, const Result<void> &asked) {
        const std::vector<int> stopped = stopsCurrents(one, experiment);
        for (const int current : stopped)
            end(experiment.entries[std::size_t(current)], asked, one.by);
        const bool hadNotEnded = std::ranges::any_of(stopped, [this](int current) {
            const EntryState state = experiment.entries[std::size_t(current)].state;
            return state == EntryState::Stopped || !isOver(state);
        });
        if (hadNotEnded && one.kind == QueueRequest::Kind::Skip)
            return {};
        return apply(one, experiment, room ? &*room : nullptr);
    }

    /// On another machine only its agent knows.
    [[nodiscard]] bool mayTrain(const ExperimentEntry &entry, RunStatus::Kind kind) const {
        const RunFolder folder = runFolder(entry.run);
        return !experiment.host.empty() || kind == RunStatus::Kind::Running ||
               (kind == RunStatus::Kind::Starting && isThere(folder.path)) ||
               (kind == RunStatus::Kind::Unknown && isThere(folder.origin()) && !isThere(folder.result()));
    }

    /// A run that had ended keeps its own end, and one whose agent lives but can't be asked is not called stopped: it trains on.
    void end(ExperimentEntry &entry, const Result<void> &asked, const std::string &by) const {
        using Kind = RunStatus::Kind;
        if (const std::optional<std::string> why = notItsRun(experiment, entry)) {
            entry.run.clear();
            entry.state = EntryState::Failed;
            entry.reason = *why;
            return;
        }
        const RunStatus status = readRunStatus(runFolder(entry.run));
        if (status.kind == Kind::Finished) {
            const EntryEnd own = entryEndOf(*status.result);
            entry.state = own.state;
            entry.reason = own.reason.toStdString();
        } else if (asked || !mayTrain(entry, status.kind)) {
            entry.state = EntryState::Stopped;
            entry.reason = "stopped by " + by;
        }
    }
};

/// Requests to stop that are under way, and why others were refused.
struct Stops {
    std::vector<std::unique_ptr<Request>> all;
    Result<void> refused;
    std::set<int> entries = {}; ///< whose agents were asked: asked twice, an agent kills its ranks
};

/// Whether the run's files say that it has ended: then there is no agent to ask. Another machine's is asked all the same, since files
/// here may be a copy from anybody.
bool hasEnded(const Experiment &queue, const ExperimentEntry &entry) {
    const std::vector<NodePlace> &nodes = entry.planned.config.nodes;
    const bool isHere = queue.host.empty() && (nodes.empty() || nodes.front().host.empty());
    const RunStatus::Kind kind = readRunStatus(runFolder(entry.run)).kind;
    return isHere && (kind == RunStatus::Kind::Finished || kind == RunStatus::Kind::AgentDied);
}

/// Asks the agents of the runs that the request stops.
void askRuns(Stops &stops, const QueueRequest &request, const Experiment &queue) {
    const Result<CommandPrefix> prefix = prefixFor(queue.host, queue.remoteAgent);
    for (const int current : stopsCurrents(request, queue)) {
        const ExperimentEntry &entry = queue.entries[std::size_t(current)];
        if (!prefix || entry.run.empty() || notItsRun(queue, entry) || hasEnded(queue, entry) ||
            !stops.entries.insert(current).second)
            continue;
        Asked asked =
            askToStop(prefixOfAgent0(entry.planned.config, *prefix).value_or(*prefix), entry.run, request.by, queue.id);
        if (!asked)
            stops.refused = fail(asked.error());
        else if (*asked)
            stops.all.push_back(std::move(*asked));
    }
}

/// A request that can't be written for the queue's owner, on a full disk for example: the runs that it stops are asked all the same. Fails with
/// `why` if there are none or they can't be asked, else with `half`.
Asked askRunsAlone(const Error &why, const Error &half, const QueueRequest &request, const Experiment &queue) {
    Stops stops;
    askRuns(stops, request, queue);
    if (stops.all.empty())
        return fail(why);
    return std::make_unique<RequestGroup>(std::move(stops.all), [why, half](const Result<void> &asked) {
        if (asked)
            return fail(half);
        Error both = why;
        both.what += "; " + asked.error().message();
        return fail(std::move(both));
    });
}

Asked askRunsAlone(const Error &why, const QueueRequest &request, const Experiment &queue) {
    const Error half = Error::failed("its queue can't be reached: " + why.message() +
                                         "; the run that was under way was asked to stop, and the next one may start",
                                     "make room, then ask again");
    return askRunsAlone(why, half, request, queue);
}

Asked applyHere(std::string_view id, const QueueRequest &request) {
    if (isSlurmExperiment(id)) {
        const Result<void> asked = askSlurmQueue(std::string(id), request);
        return asked ? Asked() : fail(asked.error());
    }
    Result<FileLock> lock = FileLock::acquire(experimentFolder(id).lock());
    if (!lock)
        return fail(lock.error());
    Result<Experiment> experiment = readExperiment(id); // read again under the lock
    if (!experiment)
        return fail(experiment.error());
    const auto change =
        std::make_shared<OwnerlessChange>(OwnerlessChange{std::move(*lock), std::move(*experiment), request});
    const Experiment &queue = change->experiment;
    bool more = false;
    change->before = pendingRequests(experimentFolder(id), nullptr, &more);
    if (more) // this one's turn is after them
        return fail(Error::failed(
            "more requests to the queue of " + std::string(id) + " wait than are taken at once, " +
                std::to_string(mostRequestsAtOnce) + ", " + std::to_string(mostRequestBytesAtOnce >> 20) + " MiB or " +
                std::to_string(mostPlaces) + " nodes and devices",
            "remove those that nobody made from " + experimentFolder(id).requests() + ", then ask again"));
    std::erase_if(change->before, [&](const PendingRequest &one) {
        return std::ranges::find(queue.taken, one.name) != queue.taken.end();
    });
    Stops stops;
    for (const PendingRequest &one : change->before)
        askRuns(stops, one.request, queue);
    askRuns(stops, request, queue);
    if (!stops.all.empty())
        return std::make_unique<RequestGroup>(std::move(stops.all),
                                              [change, refused = stops.refused](const Result<void> &asked) {
                                                  return change->write(asked ? refused : asked);
                                              });
    const Result<void> written = change->write(stops.refused);
    return written ? Asked() : fail(written.error());
}

/// Whether the queue's owner takes every request to stop it: one that is suspended does not.
bool ownerTakesStops(const ExperimentFolder &folder) {
    std::set<std::string> left;
    const auto waits = [&] {
        bool more = false;
        const auto pending = pendingRequests(folder, &left, &more);
        return more || std::ranges::any_of(pending, [](const PendingRequest &one) {
                   return one.request.kind == QueueRequest::Kind::Stop;
               });
    };
    for (const QDeadlineTimer limit(takenLimit); waits();) {
        if (limit.hasExpired())
            return false;
        QEventLoop loop;
        QTimer::singleShot(takenPoll, &loop, &QEventLoop::quit);
        loop.exec();
    }
    return true;
}

/// A request to stop waits for an owner that does not take it: the runs under way are asked here.
Asked askWithoutOwner(std::string_view id, const QueueRequest &request) {
    const Error why =
        Error::failed("the queue's process does not answer, so the request to stop waits for it or for the next one",
                      "continue it if it is suspended: fg, or kill -CONT PID");
    {
        const Result<FileLock> owner = takeLock(experimentFolder(id).lock(), why);
        if (!owner) {
            Error half = owner.error(); // which names its process
            half.what += "; the run that was under way was asked to stop";
            const Result<Experiment> queue = readExperiment(id);
            return queue ? askRunsAlone(owner.error(), half, request, *queue) : fail(queue.error());
        }
    }
    return applyHere(id, request); // it has ended meanwhile
}

} // namespace

std::string_view toString(QueueRequest::Kind kind) {
    return kindNames[std::size_t(kind)];
}

std::optional<QueueRequest::Kind> queueRequestKindFrom(std::string_view text) {
    const auto found = std::find(kindNames.begin(), kindNames.end(), text);
    if (found == kindNames.end())
        return std::nullopt;
    return QueueRequest::Kind(found - kindNames.begin());
}

std::string toJson(const QueueRequest &request) {
    Json json = {{"kind", std::string(toString(request.kind))}, {"by", request.by}};
    if (request.entry >= 0)
        json["entry"] = request.entry;
    if (request.kind == QueueRequest::Kind::Move)
        json["to"] = request.to;
    if (request.kind == QueueRequest::Kind::Repeat)
        json["rounds"] = request.rounds;
    if (request.alone)
        json["alone"] = true;
    if (request.generation)
        json["generation"] = *request.generation;
    if (request.added)
        json["added"] = {{"name", request.added->name},
                         {"repeats", request.added->repeats},
                         {"note", request.added->note},
                         {"command", request.added->command},
                         {"config", Json::parse(lockstep::toJson(request.added->config, request.added->claims))}};
    if (request.added)
        putClaims(request.added->claims, json["added"]);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<QueueRequest> queueRequestFromJson(std::string_view text) {
    try {
        const Json json = documents::objectIn(text);
        const auto kind = queueRequestKindFrom(json.value("kind", ""));
        if (!kind)
            return std::nullopt;
        QueueRequest request;
        request.kind = *kind;
        request.entry = wholeIn(json, "entry", -1);
        request.to = wholeIn(json, "to", 0);
        request.rounds = wholeIn(json, "rounds", 0);
        request.alone = json.value("alone", false);
        request.by = shortAsker(json.value("by", "a request")); // every run that it ends keeps it
        if (json.contains("generation"))
            request.generation = wholeIn(json, "generation", std::uint64_t(0));
        if (json.contains("added")) {
            const Json &added = json["added"];
            const auto config = runConfigFromJson(added.at("config").dump());
            if (!config)
                return std::nullopt;
            request.added.emplace();
            request.added->name = presentTitle(added.at("name").get<std::string>());
            request.added->repeats = wholeIn(added, "repeats", 1);
            request.added->note = added.value("note", "");
            request.added->command = added.value("command", std::vector<std::string>());
            request.added->config = *config;
            request.added->claims = claimsIn(added);
        }
        return request;
    } catch (const std::exception &) {
        return std::nullopt;
    }
}

std::vector<QueueRequest> retriesOf(const Experiment &experiment, const std::vector<std::string> &runs, bool alone) {
    std::vector<QueueRequest> out;
    for (std::size_t i = 0; i < experiment.entries.size(); ++i) {
        const std::string &run = experiment.entries[i].run;
        if (run.empty() || std::ranges::find(runs, run) == runs.end())
            continue;
        QueueRequest &request = out.emplace_back();
        request.kind = QueueRequest::Kind::Retry;
        request.entry = int(i);
        request.alone = alone;
    }
    return out;
}

std::vector<QueueRequest> retriesOfDropped(const Experiment &experiment) {
    std::vector<QueueRequest> out;
    for (std::size_t i = 0; i < experiment.entries.size(); ++i) {
        const ExperimentEntry &entry = experiment.entries[i];
        const bool over = entry.state == EntryState::Stopped || entry.state == EntryState::Failed;
        if (!over || !entry.run.empty() || !entry.planned.runnable())
            continue;
        QueueRequest &request = out.emplace_back();
        request.kind = QueueRequest::Kind::Retry;
        request.entry = int(i);
        request.alone = entry.alone;
    }
    return out;
}

std::vector<int> stopsCurrents(const QueueRequest &request, const Experiment &experiment) {
    std::vector<int> out = experiment.currents();
    std::erase_if(out, [&](int current) {
        return request.kind != QueueRequest::Kind::Stop &&
               !(request.kind == QueueRequest::Kind::Skip && request.entry == current);
    });
    return out;
}

Result<void> apply(const QueueRequest &request, Experiment &experiment, DocumentRoom *room) {
    const bool names = request.kind == QueueRequest::Kind::Skip || request.kind == QueueRequest::Kind::Retry ||
                       request.kind == QueueRequest::Kind::Move;
    if (names && (request.entry < 0 || request.entry >= int(experiment.entries.size())))
        return fail(Error::badArgument("the experiment has no run number " + std::to_string(request.entry + 1),
                                       "it has 1 to " + std::to_string(experiment.entries.size())));
    switch (request.kind) {
    case QueueRequest::Kind::Stop:
        for (ExperimentEntry &entry : experiment.entries)
            if (entry.state == EntryState::Queued) {
                entry.state = EntryState::Stopped;
                entry.reason = "stopped by " + request.by;
            }
        if (experiment.until)
            experiment.until->settled = true;
        return {};
    case QueueRequest::Kind::Pause:
    case QueueRequest::Kind::Resume:
        if (experiment.over())
            return fail(Error::badArgument("experiment " + experiment.id + " is over: there is no queue to " +
                                               std::string(toString(request.kind)),
                                           "lockstepctl show " + experiment.id));
        experiment.pausedBy = request.kind == QueueRequest::Kind::Pause ? request.by : std::string();
        return {};
    case QueueRequest::Kind::Skip:
        return skip(experiment.entries[std::size_t(request.entry)], request.by);
    case QueueRequest::Kind::Retry:
        return retry(experiment, request.entry, request.alone);
    case QueueRequest::Kind::Move:
        return move(experiment, request.entry, request.to);
    case QueueRequest::Kind::Add:
        if (!request.added)
            return fail(Error::badArgument("the request names no run to add", "give a run and its config"));
        return lengthen(experiment, room, [&](Experiment &longer) { return add(longer, *request.added, room); });
    case QueueRequest::Kind::Repeat:
        return lengthen(experiment, room, [&](Experiment &longer) { return addRounds(longer, request.rounds, room); });
    }
    return {};
}

Asked askQueue(std::string_view id, const QueueRequest &request) {
    const auto origin = readQueueOrigin(id);
    if (!origin)
        return fail(origin.error());
    if (*origin)
        return askQueueThere(id, **origin, request);
    Result<Experiment> experiment = readExperiment(id);
    if (!experiment)
        return fail(experiment.error());
    if (request.kind == QueueRequest::Kind::Stop && experiment->over())
        return fail(Error::failed("experiment " + std::string(id) + " is over already"));
    if (const Result<void> possible = apply(request, *experiment);
        !possible) // tried on a copy to report errors to the requester
        return fail(possible.error());
    const ExperimentFolder folder = experimentFolder(id);
    if (!isOwned(id))
        return applyHere(id, request);
    if (const Result<void> made = realFileSystem().makeFolders(folder.requests()); !made)
        return askRunsAlone(made.error(), request, *experiment);
    char name[64]; // names sort by time
    std::snprintf(name, sizeof name, "%020lld-%d.json", static_cast<long long>(SystemClock().wallUs()), ::getpid());
    const Result<void> written = realFileSystem().writeAtomically(folder.requests() + "/" + name, toJson(request));
    if (!written)
        return askRunsAlone(written.error(), request, *experiment);
    // Its owner may have ended meanwhile, without having seen it.
    if (!isOwned(id) && forgetRequest(folder, name))
        return applyHere(id, request);
    return Asked();
}

Result<void> requestQueue(std::string_view id, const QueueRequest &request) {
    const Result<void> asked = waitFor(askQueue(id, request));
    const bool stops = request.kind == QueueRequest::Kind::Stop && !isSlurmExperiment(id); // whose owner only watches
    if (!asked || !stops || ownerTakesStops(experimentFolder(id)))
        return asked;
    return waitFor(askWithoutOwner(id, request));
}

std::vector<PendingRequest> waitingRequests(const ExperimentFolder &folder, bool *more,
                                            const std::function<void(const std::string &name)> &unreadable) {
    std::vector<PendingRequest> pending;
    if (!openFolderToWrite(folder.requests()))
        return pending; // none was made yet, or a link leads to another's files
    const QDir where(QString::fromStdString(folder.requests()));
    constexpr qint64 largestRequest = 1 << 20;
    std::size_t bytes = 0, places = 0;
    for (const QString &name : where.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        if (pending.size() >= mostRequestsAtOnce || bytes > mostRequestBytesAtOnce || places > mostPlaces) {
            if (more)
                *more = true;
            break;
        }
        const std::string path = where.filePath(name).toStdString();
        const bool tooLarge = QFileInfo(where, name).size() > largestRequest;
        const Result<std::string> text = tooLarge ? std::string() : realFileSystem().readAll(path, largestRequest);
        if (!text)
            continue; // the disk may give it the next time, or it was taken back
        bytes += text->size();
        if (auto request = queueRequestFromJson(*text)) {
            places += request->added ? placeCount(request->added->config) : 0;
            pending.push_back({name.toStdString(), std::move(*request)});
        } else if (unreadable) {
            unreadable(name.toStdString());
        }
    }
    return pending;
}

std::vector<PendingRequest> pendingRequests(const ExperimentFolder &folder, std::set<std::string> *left, bool *more) {
    return waitingRequests(folder, more, [&](const std::string &name) {
        const bool removed = forgetRequest(folder, name);
        if (removed || !left || left->insert(name).second)
            logWarning("dropped an unreadable request: " + folder.requests() + "/" + name);
    });
}

bool forgetRequest(const ExperimentFolder &folder, const std::string &name) {
    const Result<WritePlace> place = writePlace(folder.requests() + "/" + name);
    return place && ::unlinkat(place->folder.get(), place->name.c_str(), 0) == 0;
}

Result<void> stopExperiment(std::string_view id, std::string_view by) {
    QueueRequest request;
    request.kind = QueueRequest::Kind::Stop;
    request.by = std::string(by);
    return requestQueue(id, request);
}

} // namespace lockstep::core
