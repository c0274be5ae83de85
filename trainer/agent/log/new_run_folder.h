// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/held_folder.h"
#include "ipc/run_folder.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// A run's folder as its agent makes it: lock first, so that of two agents with one run id exactly one goes on, then
/// config.json. A folder that can't be made or written is a BadArgument error and leaves nothing.
class NewRunFolder {
public:
    /// Fills in the record's run id, start and version where they are empty.
    /// Of an agent K > 0: in a folder that agent 0 has made already (one that all nodes see) only its own files are its.
    static Result<NewRunFolder> create(RunRecord &record, int node = 0);
    NewRunFolder(NewRunFolder &&) noexcept = default;

    [[nodiscard]] const RunFolder &folder() const { return m_folder; }
    /// Whether somebody has removed it since.
    [[nodiscard]] bool gone() const { return m_held.gone(); }
    /// Whether it is agent 0's folder, too.
    [[nodiscard]] bool shared() const { return m_shared; }
    /// Removes what create() made: the run never started.
    void discard();

private:
    NewRunFolder(RunFolder folder, FileLock lock, int node, bool shared)
        : m_folder(std::move(folder)), m_held(m_folder.path), m_lock(std::move(lock)), m_node(node), m_shared(shared) {}
    RunFolder m_folder;
    HeldFolder m_held;
    FileLock m_lock;
    int m_node;
    bool m_shared;
};

} // namespace lockstep::agent
