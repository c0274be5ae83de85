// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/command_prefix.h"
#include "experiment/experiment.h"
#include "ipc/held_folder.h"
#include "ipc/unix_socket.h"
#include "queue/queue_request.h"

namespace lockstep::core {

/// Of a queue that another process owns.
[[nodiscard]] Error hasOwner(const std::string &id);

/// experiment.json as its owner changes it: holds the queue's lock as long as this lives, or until it gives it up.
class OwnedExperiment {
public:
    /// Takes the lock, reads the experiment and carries out the requests that an earlier owner did not take, up to one that stops a run
    /// under way: that one and those behind it still wait. An error names the owner's pid, or the machine that keeps the queue.
    [[nodiscard]] static Result<OwnedExperiment> own(const std::string &id);

    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }
    [[nodiscard]] Experiment &experiment() { return m_experiment; }
    [[nodiscard]] ExperimentEntry &at(int entry) { return m_experiment.entries[std::size_t(entry)]; }
    /// The machine from which its runs are launched.
    [[nodiscard]] const CommandPrefix &prefix() const { return m_prefix; }
    /// The machine of the entry's agent 0. An invalid host is refused at the launch.
    [[nodiscard]] CommandPrefix prefixOf(int entry) const;

    [[nodiscard]] Result<void> save() const; ///< fails once the folder or the lock was removed
    /// Requests that are not carried out yet, oldest first.
    [[nodiscard]] std::vector<PendingRequest> requests();
    /// Carries the request out, writes the queue and removes the request, in that order; one that is impossible, or after
    /// which nobody could read the queue, is only logged and removed. An error means that the queue can't be written: nothing has changed, and the request still waits.
    [[nodiscard]] Result<void> carryOut(const PendingRequest &pending);
    /// Removes it without carrying it out. Where that fails, on a disk that can't be written, it is passed over from now on.
    void forget(const PendingRequest &pending);
    /// The folder was removed, or the lock's file: then another process may own the queue, too.
    [[nodiscard]] bool gone() const { return m_folder.gone() || lockGone(); }
    /// A sentence that says so, and which runs continue by themselves.
    [[nodiscard]] std::string goneSentence() const;
    void remove() const;              ///< the whole folder
    void giveUp() { m_lock.reset(); } ///< from now on another may own it

private:
    OwnedExperiment() = default;
    [[nodiscard]] bool lockGone() const;
    Experiment m_experiment;
    CommandPrefix m_prefix;
    std::optional<FileLock> m_lock;
    HeldFolder m_folder;
    std::set<std::string> m_left; ///< requests that are done with and could not be removed
};

} // namespace lockstep::core
