// SPDX-License-Identifier: MIT
// queue, pause, resume, skip, retry, repeat and move: an experiment's queue while it runs, and after.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "ipc/printable.h"
#include "output.h"
#include "queue/queue_origin.h"
#include "queue/queue_run.h"

namespace lockstep::cli {
namespace {

using Kind = core::QueueRequest::Kind;

/// Converts a run's number from 1 to an index.
int entryOf(int number) {
    return number - 1;
}

std::string nameOf(const core::ExperimentEntry &entry) {
    return core::nameWithRepeat(entry.planned);
}

int ask(const std::string &id, core::QueueRequest request, const std::string &done) {
    request.by = whoAsks();
    if (const auto asked = core::requestQueue(id, request); !asked)
        return complain(asked.error());
    print(done + "\n");
    return Done;
}

/// A queue's state; for an unreachable remote one, its last known state and the reason.
struct Standing {
    core::Experiment experiment;
    std::optional<bool> owned; ///< absent: unknown
    std::string on;            ///< the machine that runs it; empty: this one
    std::string unknownWhy;
};

Result<Standing> standingOf(const std::string &id) {
    const auto origin = core::queueOriginOf(id);
    if (origin) {
        auto now = core::fetchQueue(id, *origin);
        if (now)
            return Standing{std::move(now->experiment), now->owned, origin->prefix.host, {}};
        if (auto before = core::readExperiment(id))
            return Standing{std::move(*before), std::nullopt, origin->prefix.host, now.error().what};
        return fail(now.error());
    }
    auto experiment = core::readExperiment(id);
    if (!experiment)
        return fail(experiment.error());
    const bool owned = core::isOwned(id);
    core::takeEndsWithoutOwner(*experiment);
    return Standing{std::move(*experiment), owned, {}, {}};
}

/// What waits in the queue's folder and was not carried out yet. Of a queue elsewhere only that machine knows.
std::vector<core::PendingRequest> waitingFor(const Standing &standing, bool &more) {
    if (!standing.on.empty())
        return {};
    const core::Experiment &experiment = standing.experiment;
    auto waiting = core::waitingRequests(core::experimentFolder(experiment.id), &more);
    std::erase_if(waiting, [&](const core::PendingRequest &one) {
        return std::ranges::find(experiment.taken, one.name) != experiment.taken.end();
    });
    return waiting;
}

/// "add: 2 runs of "b" with the command "python train.py"", "skip: run 3".
std::string wordsOf(const core::QueueRequest &request) {
    std::string text(core::toString(request.kind));
    if (request.entry >= 0)
        text += ": run " + std::to_string(request.entry + 1);
    if (request.rounds > 0)
        text += ": " + std::to_string(request.rounds) + " rounds";
    if (!request.added)
        return text;
    text += ": " + std::to_string(request.added->repeats) + (request.added->repeats == 1 ? " run of " : " runs of ") +
            quotedWords(request.added->name);
    std::string command;
    for (const std::string &word : request.added->command)
        command += (command.empty() ? "" : " ") + word;
    return command.empty() ? text : text + " with the command " + quotedWords(command);
}

void printWaiting(const Standing &standing) {
    constexpr std::size_t mostShown = 20;
    bool more = false;
    const auto waiting = waitingFor(standing, more);
    if (waiting.empty())
        return;
    std::string text = (more ? "more than " : "") + std::to_string(waiting.size()) +
                       (waiting.size() == 1 && !more ? " request waits" : " requests wait") +
                       " for the queue's process, to be carried out:\n";
    for (std::size_t i = 0; i < std::min(waiting.size(), mostShown); ++i)
        text += "  " + wordsOf(waiting[i].request) + ", by " + quotedWords(waiting[i].request.by) + "\n";
    if (waiting.size() > mostShown)
        text += "  and " + std::to_string(waiting.size() - mostShown) + " more\n";
    print(text + "each is a file in " + core::experimentFolder(standing.experiment.id).requests() + "\n");
}

int printJson(const Standing &standing) {
    const core::Experiment &experiment = standing.experiment;
    nlohmann::ordered_json json = {{"experiment", experiment.id}, {"title", experiment.title}};
    json["owned"] = standing.owned ? nlohmann::ordered_json(*standing.owned) : nullptr;
    json["queue_on"] = standing.on.empty() ? nullptr : nlohmann::ordered_json(standing.on);
    if (!standing.unknownWhy.empty())
        json["unknown"] = standing.unknownWhy;
    json["paused_by"] = experiment.paused() ? nlohmann::ordered_json(experiment.pausedBy) : nullptr;
    if (experiment.until)
        json["until_width"] = nlohmann::ordered_json::parse(core::toJson(*experiment.until));
    json["entries"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < experiment.entries.size(); ++i) {
        const core::ExperimentEntry &entry = experiment.entries[i];
        json["entries"].push_back({{"number", i + 1},
                                   {"name", entry.planned.name},
                                   {"repeat", entry.planned.repeat},
                                   {"state", std::string(core::toString(entry.state))},
                                   {"run", entry.run},
                                   {"reason", entry.reason},
                                   {"earlier_runs", entry.earlierRuns}});
    }
    json["waiting"] = nlohmann::ordered_json::array();
    for (const int entry : experiment.queued())
        json["waiting"].push_back(entry + 1);
    bool more = false;
    json["requests"] = nlohmann::ordered_json::array();
    for (const core::PendingRequest &one : waitingFor(standing, more))
        json["requests"].push_back(nlohmann::ordered_json::parse(core::toJson(one.request)));
    print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return Done;
}

} // namespace

int goOn(const std::string &id) {
    if (core::isOwned(id) || core::queueOriginOf(id)) // a remote machine starts the owner itself
        return Done;
    RunOptions options;
    options.experiment = id;
    options.detach = true;
    return runCommand(options);
}

int queueCommand(const std::string &id, bool json) {
    const auto standing = standingOf(id);
    if (!standing)
        return complain(standing.error());
    if (json)
        return printJson(*standing);
    const core::Experiment *experiment = &standing->experiment;
    std::vector<std::vector<std::string>> rows = {{"no", "run", "state", "why"}};
    const auto add = [&](int i) {
        const core::ExperimentEntry &entry = experiment->entries[std::size_t(i)];
        rows.push_back({std::to_string(i + 1), nameOf(entry), std::string(core::toString(entry.state)), entry.reason});
    };
    for (int i = 0; i < int(experiment->entries.size()); ++i)
        if (experiment->entries[std::size_t(i)].state != core::EntryState::Queued)
            add(i);
    for (const int i : experiment->queued())
        add(i);
    print(experiment->title + ", experiment " + id + "\n" + aligned(rows));
    if (experiment->until)
        print(core::progressText(*experiment->until, {}) + "\n");
    if (experiment->paused() && !experiment->over())
        print("paused by " + experiment->pausedBy + "; to resume: lockstepctl resume " + id + "\n");
    if (!standing->on.empty())
        print("the queue is on " + standing->on + "\n");
    if (!standing->unknownWhy.empty())
        print("its state is unknown, this is the last known one: " + standing->unknownWhy + "\n");
    printWaiting(*standing);
    if (standing->owned == false && !experiment->over())
        print("the queue waits: the process that ran it has ended; resume it: lockstepctl run --experiment " + id +
              "\n");
    return Done;
}

int pauseCommand(const std::string &id) {
    core::QueueRequest request;
    request.kind = Kind::Pause;
    return ask(id, request, "the queue of " + id + " is paused after its current run");
}

int resumeCommand(const std::string &id) {
    core::QueueRequest request;
    request.kind = Kind::Resume;
    const int code = ask(id, request, "the queue of " + id + " is resumed");
    return code == Done ? goOn(id) : code;
}

int skipCommand(const std::string &id, int number) {
    core::QueueRequest request;
    request.kind = Kind::Skip;
    request.entry = entryOf(number);
    return ask(id, request, "run " + std::to_string(number) + " of " + id + " is skipped");
}

int moveCommand(const std::string &id, int number, int place) {
    core::QueueRequest request;
    request.kind = Kind::Move;
    request.entry = entryOf(number);
    request.to = place - 1;
    return ask(id, request, "run " + std::to_string(number) + " of " + id + " waits at place " + std::to_string(place));
}

int repeatCommand(const std::string &id, int rounds) {
    core::QueueRequest request;
    request.kind = Kind::Repeat;
    request.rounds = rounds;
    const int code = ask(id, request,
                         (rounds == 1 ? "one more round" : std::to_string(rounds) + " more rounds") +
                             " of the runs of " + id + (rounds == 1 ? " is queued" : " are queued"));
    return code == Done ? goOn(id) : code;
}

int retryCommand(const std::string &id, std::vector<int> numbers, bool alone) {
    const auto standing = standingOf(id);
    if (!standing)
        return complain(standing.error());
    const core::Experiment *experiment = &standing->experiment;
    if (numbers.empty())
        for (int i = 0; i < int(experiment->entries.size()); ++i)
            if (const auto state = experiment->entries[std::size_t(i)].state;
                state == core::EntryState::Failed || state == core::EntryState::Stopped)
                numbers.push_back(i + 1);
    if (numbers.empty())
        return complain(Error::badArgument("no run of " + id + " failed or was stopped",
                                           "give a run's number: lockstepctl queue " + id));
    int failed = Done;
    bool queued = false;
    for (const int number : numbers) {
        core::QueueRequest request;
        request.kind = Kind::Retry;
        request.alone = alone;
        request.entry = entryOf(number);
        const int code = ask(id, request, "run " + std::to_string(number) + " of " + id + " is queued again");
        queued = queued || code == Done;
        failed = failed == Done ? code : failed;
    }
    const int went = queued ? goOn(id) : failed;
    return failed == Done ? went : failed;
}

} // namespace lockstep::cli
