// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "ipc/file_system.h"
#include "trainer/agent/log/disk_sync.h"
#include "trainer/agent/log/log_window.h"

namespace lockstep::agent {

/// Agent 0's copy of another node's log, identical byte for byte, in its own run folder; followers read it. In a shared
/// folder the other agent writes the file itself, and nothing is written here.
class NodeLog {
public:
    /// `sync` outlives it. `shared`: the other node's agent writes the file at `path`.
    static Result<std::unique_ptr<NodeLog>> open(FileSystem &fs, DiskSync &sync, const std::string &path, int node,
                                                 bool shared);

    enum class Verdict { Taken, Doubled, Damaged };
    /// Takes a line from the link. An error means that it could not be written; the line was not taken and must be sent
    /// again.
    Result<Verdict> take(std::string_view line);
    void requestSync();

    [[nodiscard]] std::uint64_t nextSeq() const { return m_window.nextSeq(); } ///< the first line that is missing
    [[nodiscard]] std::uint64_t durableSeq() const;                            ///< all lines before it are on the disk
    [[nodiscard]] const LogWindow &window() const { return m_window; }

private:
    NodeLog(DiskSync &sync, std::string path, int node) : m_sync(sync), m_node(node), m_window(std::move(path), 0) {}

    DiskSync &m_sync;
    int m_node;
    LogWindow m_window;
    std::unique_ptr<AppendFile> m_file; ///< null in a shared folder
    std::size_t m_syncFile = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace lockstep::agent
