#pragma once
// What a person may ask of an experiment's queue while it runs, and after. Requests are files in the experiment's folder
// (requests/, taken in the order of their names), so that they outlive whoever asked and wait for an owner that is busy.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/error.h"
#include "launch/experiment.h"

namespace lockstep::core {

struct QueueRequest {
    enum class Kind {
        Stop,   ///< the current runs and the rest of the queue
        Pause,  ///< the current runs go on, no further one starts
        Resume, ///< after a pause
        Skip,   ///< one entry: queued, it is left out; running, it is stopped and the next one starts
        Retry,  ///< one entry that is over: queued again, its earlier run is kept and counts no more
        Move,   ///< one queued entry to another place among the queued ones
        Add     ///< further runs at the queue's end: a control that is missing
    };
    Kind kind = Kind::Stop;
    int entry = -1;     ///< index in Experiment::entries; for Skip, Retry, Move
    int to = 0;         ///< Move: place among the queued entries, from 0
    bool alone = false; ///< Retry: no other run of the experiment goes beside this one
    /// Add: name, config (or script), note, and `repeats` of it. A name that another config has is made one of its own.
    std::optional<PlannedRun> added = {};
    std::string by; ///< "lockstep on box"
    /// Who held control when the viewer asked (control_seat.h); a request of an older holder is refused. Absent: a command.
    std::optional<std::uint64_t> generation;
    bool operator==(const QueueRequest &) const = default;
};
[[nodiscard]] std::string_view toString(QueueRequest::Kind kind); ///< stop, pause, resume, skip, retry, move, add
[[nodiscard]] std::optional<QueueRequest::Kind> queueRequestKindFrom(std::string_view text);
[[nodiscard]] std::string toJson(const QueueRequest &request); ///< one line, with its newline
[[nodiscard]] std::optional<QueueRequest> queueRequestFromJson(std::string_view text);

/// Changes the queue as asked; a sentence when that can't be. Of a run that is under way it changes nothing: stopping it
/// is up to the owner (stopsCurrents).
[[nodiscard]] Result<void> apply(const QueueRequest &request, Experiment &experiment);
/// Retry of each entry whose run is among `runs`; none where they were queued again already or are another experiment's.
[[nodiscard]] std::vector<QueueRequest> retriesOf(const Experiment &experiment, const std::vector<std::string> &runs,
                                                  bool alone);
/// The entries under way that must be stopped for the request.
[[nodiscard]] std::vector<int> stopsCurrents(const QueueRequest &request, const Experiment &experiment);

/// Hands the request to the queue's owner. Without an owner it is carried out here, under the queue's lock: a run that
/// may still go on is asked to stop where that is wanted, nothing is started. A queue that lives on another machine is asked
/// there (queue_origin.h), which blocks. Errors: no such experiment or entry, a state in which that can't be asked, an
/// unwritable folder, a link that is down.
[[nodiscard]] Result<void> requestQueue(std::string_view experimentId, const QueueRequest &request);
/// For the owner: what has been asked since, oldest first; the files are gone then.
[[nodiscard]] std::vector<QueueRequest> takeRequests(const ExperimentFolder &folder);

} // namespace lockstep::core
