// SPDX-License-Identifier: MIT
#pragma once
// A queue on another machine, so that this one may be switched off. Here experiments/EXP_ID/ then contains
//   origin.json       {"host":"hostA","agent":"/…/lockstep-agent","ctl":"/…/lockstepctl"}: the machine and how to reach it
//   experiment.json   the latest copy of that machine's document, with that machine as its host
//   copy.lock         held by the viewer that writes the copy
// There `PREFIX lockstepctl remote WORD` answers: `hello` (its version), `document ID` (a QueueSnapshot), `follow ID`
// (one each time it changes; queue/queue_bridge.h), `ask ID` (a QueueRequest on stdin). Every blocking call here waits
// for ssh, at most 25 s.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "queue/queue_request.h"

namespace lockstep::core {

constexpr int shellFoundNothing = 127, shellCouldNotRun = 126; ///< exit codes of a remote shell
constexpr int queueProtocol = 1; ///< version of `lockstepctl remote`; a sync replaces another one

struct QueueOrigin {
    CommandPrefix prefix; ///< of the machine; the queue's owner there starts its agent
    std::string ctl;      ///< lockstepctl's path there
    bool operator==(const QueueOrigin &) const = default;
};

/// The machine of an experiment's queue as its folder names it; nothing if it is this one. Nothing is started there unless
/// its places are known (nodes/known_places.h).
[[nodiscard]] std::optional<QueueOrigin> queueOriginOf(std::string_view experimentId);
/// The same for whoever would own the queue otherwise. An error: its folder has an origin.json that can't be read.
[[nodiscard]] Result<std::optional<QueueOrigin>> readQueueOrigin(std::string_view experimentId);
[[nodiscard]] std::vector<CommandPrefix> placesOf(const QueueOrigin &origin); ///< of its agent and its lockstepctl
/// Fails with the question if one of them is not known.
[[nodiscard]] Result<void> checkPlaces(std::string_view experimentId, const QueueOrigin &origin);
/// Remembers its places: the caller has them from this user.
[[nodiscard]] Result<void> writeQueueOrigin(std::string_view experimentId, const QueueOrigin &origin);

/// PREFIX lockstepctl ARGUMENTS, quoted for the remote shell.
[[nodiscard]] std::vector<std::string> ctlCommand(const QueueOrigin &origin, const std::vector<std::string> &arguments);

/// The origin of queues on `prefix`'s machine, which this user has just named: its places are remembered. With the
/// lockstepctl next to its agent; where only PATH there leads to them, the place that it answers is remembered, too. Checks that it
/// is there and of this version. Blocks. The error names the sync that fixes it.
[[nodiscard]] Result<QueueOrigin> queueHostAt(const CommandPrefix &prefix);

/// A queue's state on its own machine.
struct QueueSnapshot {
    Experiment experiment;
    bool owned = false; ///< a live process there owns it
};
[[nodiscard]] std::string toJson(const QueueSnapshot &snapshot); ///< one line, with its newline
/// Sets the origin's machine as the experiment's host.
[[nodiscard]] Result<QueueSnapshot> snapshotFromJson(std::string_view line, const QueueOrigin &origin);
/// Writes it as the copy.
[[nodiscard]] Result<void> keepCopy(const QueueSnapshot &snapshot);

/// Requests the queue's state and writes it as the copy. Blocks.
[[nodiscard]] Result<QueueSnapshot> fetchQueue(std::string_view experimentId, const QueueOrigin &origin);
/// Sends a request to the queue's owner there. Without an owner it is carried out like askQueue() there, and a queue
/// that can continue gets an owner. Errors: refused there, or not sent.
[[nodiscard]] Asked askQueueThere(std::string_view experimentId, const QueueOrigin &origin,
                                  const QueueRequest &request);

/// The output of one remote command.
struct ThereSaid {
    int code = 0; ///< 255: the link
    std::string out, err;
};
/// Runs one command there; `input` is its stdin, and `judge` turns its output into the result. It fails if the link is
/// down or without an answer within `limit`.
[[nodiscard]] Asked askThere(const QueueOrigin &origin, const std::vector<std::string> &arguments,
                             const std::string &input, std::chrono::milliseconds limit,
                             const std::function<Result<void>(const ThereSaid &)> &judge);
/// The same, but waits: for the command line.
[[nodiscard]] Result<ThereSaid> runThere(const QueueOrigin &origin, const std::vector<std::string> &arguments,
                                         const std::string &input = {}, std::chrono::milliseconds limit = answerLimit);
/// The remote lockstepctl's error text, without the program's name at each line.
[[nodiscard]] std::string complaintOf(const ThereSaid &said);

} // namespace lockstep::core
