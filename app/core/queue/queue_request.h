// SPDX-License-Identifier: MIT
#pragma once
// Requests to an experiment's queue, while it runs and after. They are files in the experiment's folder
// (requests/, handled in the order of their names), so they outlive the requester and wait for a busy owner.
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/request.h"
#include "experiment/document_room.h"
#include "experiment/experiment.h"
#include "ipc/error.h"

namespace lockstep::core {

struct QueueRequest {
    enum class Kind {
        Stop,   ///< the current runs and the rest of the queue
        Pause,  ///< the current runs continue, no further one starts
        Resume, ///< after a pause
        Skip,   ///< one entry: not started if queued, stopped if running
        Retry,  ///< one finished entry: queued again; its earlier run is kept but no longer counts
        Move,   ///< one queued entry to another position among the queued ones
        Add,    ///< further runs at the queue's end, e.g. a missing control run
        Repeat  ///< whole rounds at the queue's end: each run so many times more
    };
    Kind kind = Kind::Stop;
    int entry = -1;     ///< index in Experiment::entries; for Skip, Retry, Move
    int to = 0;         ///< Move: position among the queued entries, from 0
    int rounds = 0;     ///< Repeat: how many
    bool alone = false; ///< Retry: no other run of the experiment at the same time
    /// Add: name, config (or script), note, and `repeats`. A name that another config uses is made unique.
    std::optional<PlannedRun> added = {};
    std::string by; ///< "lockstep on box"
    /// Generation of control at the request (control_seat.h); an older one is refused. Absent: a command, always
    /// allowed.
    std::optional<std::uint64_t> generation;
    bool operator==(const QueueRequest &) const = default;
};
[[nodiscard]] std::string_view toString(QueueRequest::Kind kind); ///< stop, pause, …
[[nodiscard]] std::optional<QueueRequest::Kind> queueRequestKindFrom(std::string_view text);
[[nodiscard]] std::string toJson(const QueueRequest &request); ///< one line, with its newline
[[nodiscard]] std::optional<QueueRequest> queueRequestFromJson(std::string_view text);

/// Changes the queue; the error says why that is impossible. Does not touch a run that is under way: stopping it
/// is up to the owner (stopsCurrents). A queue whose document nobody could read is an error: whoever applies many counts what they take
/// in `room`, else the document is made to know.
[[nodiscard]] Result<void> apply(const QueueRequest &request, Experiment &experiment, DocumentRoom *room = nullptr);
/// Retry requests for the entries whose run is among `runs`; none for those already queued again or of another
/// experiment.
[[nodiscard]] std::vector<QueueRequest> retriesOf(const Experiment &experiment, const std::vector<std::string> &runs,
                                                  bool alone);
/// The same for the entries that left the queue before they began: stopped, or refused.
[[nodiscard]] std::vector<QueueRequest> retriesOfDropped(const Experiment &experiment);
/// The running entries that the request stops.
[[nodiscard]] std::vector<int> stopsCurrents(const QueueRequest &request, const Experiment &experiment);

/// Passes the request to the queue's owner. Without an owner it is carried out here, after those that the last owner left, under the
/// queue's lock, which is held until it is over: runs are stopped if requested, but none is started. A queue on another machine gets the
/// request there (queue_origin.h). Pending only while an agent or another machine must answer. Errors: no such
/// experiment or entry, a state that does not allow the request, an unwritable folder, a link that is down.
[[nodiscard]] Asked askQueue(std::string_view experimentId, const QueueRequest &request);
/// The same, but waits: for the command line. A stop is an error, too, if the queue's owner does not take it within 5 s, as one that is
/// suspended: it waits for that owner or the next, and the runs under way are asked themselves.
[[nodiscard]] Result<void> requestQueue(std::string_view experimentId, const QueueRequest &request);
/// Asks the owner to stop queue and current runs, and waits. Without an owner the queue is closed here and the current
/// runs are asked to stop.
[[nodiscard]] Result<void> stopExperiment(std::string_view id, std::string_view by);

/// A request that waits, and the name of its file.
struct PendingRequest {
    std::string name;
    QueueRequest request;
};
/// For the owner: the requests that wait, oldest first. One is removed by forgetRequest() only once it has been carried out
/// and the queue is on the disk: an owner that dies in between loses none. An unreadable one is removed here, and said once if
/// its name, where it can't be removed, is kept in `left`. A folder that is a link, or lies behind one, has none. Of very many or
/// large ones the first are given, and `more` is set: the others wait until those are removed.
[[nodiscard]] std::vector<PendingRequest> pendingRequests(const ExperimentFolder &folder,
                                                          std::set<std::string> *left = nullptr, bool *more = nullptr);
/// The same for a reader: removes nothing. `unreadable` gets the name of each that is no request.
[[nodiscard]] std::vector<PendingRequest>
waitingRequests(const ExperimentFolder &folder, bool *more = nullptr,
                const std::function<void(const std::string &name)> &unreadable = {});
/// False: it could not be removed, or is gone already.
bool forgetRequest(const ExperimentFolder &folder, const std::string &name);

} // namespace lockstep::core
