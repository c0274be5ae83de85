// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ipc/held_folder.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// Creates a run's folder. It takes the lock first, so that of two agents with the same run id only one goes on, and
/// then writes origin.json, in a Slurm job, and config.json. If the folder cannot be created or written, it returns a BadArgument error and leaves
/// nothing behind.
class NewRunFolder {
public:
    /// Fills in the record's run id, start and version where they are empty. On node K > 0 the folder may exist
    /// already, if all nodes share it; then only this node's files belong to this agent.
    static Result<NewRunFolder> create(RunRecord &record, int node = 0);
    NewRunFolder(NewRunFolder &&) noexcept = default;

    [[nodiscard]] const RunFolder &folder() const { return m_folder; }
    /// Whether somebody has removed the folder since.
    [[nodiscard]] bool gone() const { return m_held->gone(); }
    /// The folder, for a thread that may be asked whether it is gone.
    [[nodiscard]] std::shared_ptr<const HeldFolder> held() const { return m_held; }
    /// Whether this is agent 0's folder too, on shared storage.
    [[nodiscard]] bool shared() const { return m_shared; }
    /// Removes what this agent has put there, for a run that never started. What was in the folder before stays.
    void discard();

private:
    /// What was there, in the folder and in its folder of consoles; absent: the folder wasn't.
    using Before = std::optional<std::set<std::string>>;
    NewRunFolder(RunFolder folder, FileLock lock, int node, bool shared, Before before)
        : m_folder(std::move(folder)), m_held(std::make_shared<HeldFolder>(m_folder.path)), m_lock(std::move(lock)),
          m_node(node), m_shared(shared), m_before(std::move(before)) {}
    static Before entriesOf(const RunFolder &folder);
    static void removeNew(const RunFolder &folder, const Before &before);
    RunFolder m_folder;
    std::shared_ptr<const HeldFolder> m_held;
    FileLock m_lock;
    int m_node;
    bool m_shared;
    Before m_before;
};

} // namespace lockstep::agent
