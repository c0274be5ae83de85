#pragma once
// A queue that lives on another machine, so that this one may leave. Here experiments/EXP_ID/ then holds
//   origin.json       {"host":"hostA","agent":"/…/lockstep-agent","ctl":"/…/lockstepctl"}: where it lives and how it is asked
//   experiment.json   a copy of that machine's document as it was last seen, with that machine as its host
//   copy.lock         held by the viewer that writes the copy
// There `PREFIX lockstepctl remote WORD` answers: `hello` (what it is), `document ID` (a QueueSight), `follow ID` (one
// each time it changes; follow/queue_bridge.h), `ask ID` (a QueueRequest on stdin). Everything that waits here waits for ssh,
// 25 s at most.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "launch/queue_request.h"

namespace lockstep::core {

constexpr int shellFoundNothing = 127, shellCouldNotRun = 126; ///< exit codes of the shell there
constexpr int queueProtocol = 1; ///< of `lockstepctl remote`; another one is another version, which a sync replaces

struct QueueOrigin {
    CommandPrefix prefix; ///< of the machine; its agent is the one that the queue's owner starts there
    std::string ctl;      ///< lockstepctl's path there
    bool operator==(const QueueOrigin &) const = default;
};

/// Where an experiment's queue lives; nothing for one of this machine.
[[nodiscard]] std::optional<QueueOrigin> queueOriginOf(std::string_view experimentId);
[[nodiscard]] Result<void> writeQueueOrigin(std::string_view experimentId, const QueueOrigin &origin);

/// PREFIX lockstepctl ARGUMENTS, quoted for the shell there.
[[nodiscard]] std::vector<std::string> ctlCommand(const QueueOrigin &origin, const std::vector<std::string> &arguments);

/// The origin of queues on `prefix`'s machine, whose lockstepctl is the one beside its agent: asked whether it is there and of
/// this version. Blocks. The error names the sync that mends it.
[[nodiscard]] Result<QueueOrigin> queueHostAt(const CommandPrefix &prefix);

/// A queue as its machine sees it.
struct QueueSight {
    Experiment experiment;
    bool owned = false; ///< a live process there keeps it
};
[[nodiscard]] std::string toJson(const QueueSight &sight); ///< one line, with its newline
/// As seen from here: the origin's machine is the experiment's host.
[[nodiscard]] Result<QueueSight> sightFromJson(std::string_view line, const QueueOrigin &origin);
/// Keeps it as the copy.
[[nodiscard]] Result<void> keepCopy(const QueueSight &sight);

/// Asks how the queue stands and keeps that as the copy. Blocks.
[[nodiscard]] Result<QueueSight> lookAtQueue(std::string_view experimentId, const QueueOrigin &origin);
/// Hands a request to the queue's owner there; where it has none, it is carried out as requestQueue() does, and what may go on
/// then gets an owner. Blocks. An error: refused there, or not asked at all.
[[nodiscard]] Result<void> askQueueThere(std::string_view experimentId, const QueueOrigin &origin,
                                         const QueueRequest &request);

/// One command there with its answer; `input` goes over stdin. Blocks for at most `limitMs`.
struct ThereSaid {
    int code = 0; ///< 255: the link
    std::string out, err;
};
[[nodiscard]] Result<ThereSaid> runThere(const QueueOrigin &origin, const std::vector<std::string> &arguments,
                                         const std::string &input = {}, int limitMs = 25'000);
/// What lockstepctl complained there, without its name before each line.
[[nodiscard]] std::string complaintOf(const ThereSaid &said);

} // namespace lockstep::core
