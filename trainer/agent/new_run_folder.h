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
    static Result<NewRunFolder> create(RunRecord &record);
    NewRunFolder(NewRunFolder &&) noexcept = default;

    [[nodiscard]] const RunFolder &folder() const { return m_folder; }
    /// Whether somebody has removed it since.
    [[nodiscard]] bool gone() const { return m_held.gone(); }
    /// Removes what create() made: the run never started.
    void discard();

private:
    NewRunFolder(RunFolder folder, FileLock lock)
        : m_folder(std::move(folder)), m_held(m_folder.path), m_lock(std::move(lock)) {}
    RunFolder m_folder;
    HeldFolder m_held;
    FileLock m_lock;
};

} // namespace lockstep::agent
