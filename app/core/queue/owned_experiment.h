// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/command_prefix.h"
#include "experiment/experiment.h"
#include "ipc/held_folder.h"
#include "ipc/unix_socket.h"
#include "queue/queue_request.h"

namespace lockstep::core {

/// experiment.json in the hands of the queue's owner: under its lock, for as long as this lives.
class OwnedExperiment {
public:
    /// Takes the lock, reads the experiment and carries out what was asked while nobody owned it. An error names the owner's
    /// pid, or where the queue lives instead.
    [[nodiscard]] static Result<OwnedExperiment> own(const std::string &id);

    [[nodiscard]] const Experiment &experiment() const { return m_experiment; }
    [[nodiscard]] Experiment &experiment() { return m_experiment; }
    [[nodiscard]] ExperimentEntry &at(int entry) { return m_experiment.entries[std::size_t(entry)]; }
    /// Where its runs are launched from.
    [[nodiscard]] const CommandPrefix &prefix() const { return m_prefix; }
    /// Where the entry's agent 0 is. A host that can't be one is refused at the launch.
    [[nodiscard]] CommandPrefix prefixOf(int entry) const;

    [[nodiscard]] Result<void> save() const; ///< not for a folder that is gone
    /// What has been asked since and is not carried out yet, oldest first.
    [[nodiscard]] std::vector<PendingRequest> requests();
    /// Carries the request out, writes the queue and removes the request, in that order; one that is impossible is only
    /// logged and removed. An error means that the queue can't be written: nothing has changed, the request still waits.
    [[nodiscard]] Result<void> carryOut(const PendingRequest &pending);
    void forget(const PendingRequest &pending);                 ///< removes it without carrying it out
    [[nodiscard]] bool gone() const { return m_folder.gone(); } ///< somebody removed the folder
    /// That it is, and which runs go on by themselves.
    [[nodiscard]] std::string goneSentence() const;
    void remove() const; ///< the whole folder

private:
    OwnedExperiment() = default;
    Experiment m_experiment;
    CommandPrefix m_prefix;
    std::optional<FileLock> m_lock;
    HeldFolder m_folder;
};

} // namespace lockstep::core
