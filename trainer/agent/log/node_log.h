// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "ipc/file_system.h"
#include "trainer/agent/log/disk_sync.h"
#include "trainer/agent/log/log_window.h"

namespace lockstep::agent {

/// Another node's log as agent 0 has it: a byte-identical copy of the lines in agent 0's run folder, and what followers read.
/// In a shared folder the file is that agent's own and nothing is written.
class NodeLog {
public:
    /// `sync` outlives it. `shared`: the file at `path` is written by its own agent.
    static Result<std::unique_ptr<NodeLog>> open(FileSystem &fs, DiskSync &sync, const std::string &path, int node,
                                                 bool shared);

    enum class Verdict { Taken, Doubled, Damaged };
    /// A line from the link. An error: the disk refused it; then it was not taken and has to come again.
    Result<Verdict> take(std::string_view line);
    void requestSync();

    [[nodiscard]] std::uint64_t nextSeq() const { return m_window.nextSeq(); } ///< the first line that lacks
    [[nodiscard]] std::uint64_t durableSeq() const;                            ///< all before it is on the disk
    [[nodiscard]] const LogWindow &window() const { return m_window; }

private:
    NodeLog(DiskSync &sync, std::string path, int node) : m_sync(sync), m_node(node), m_window(std::move(path), 0) {}

    DiskSync &m_sync;
    int m_node;
    LogWindow m_window;
    std::unique_ptr<AppendFile> m_file; ///< none in a shared folder
    std::size_t m_syncFile = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace lockstep::agent
