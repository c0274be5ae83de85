// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/file_system.h"
#include "ipc/log.h"
#include "trainer/agent/log/log_disk.h"
#include "trainer/agent/log/log_file_reader.h"
#include "trainer/agent/log/log_window.h"

namespace lockstep::agent {

/// Agent 0's copy of another node's log, identical byte for byte but for lines that are left out, in its own run folder;
/// followers read it. In a shared folder the other agent writes the file itself, and nothing is written here.
class NodeLog {
public:
    /// `disk` and `reader` outlive it. `shared`: the other node's agent writes the file at `path`.
    static Result<std::unique_ptr<NodeLog>> open(FileSystem &fs, LogDisk &disk, LogFileReader &reader,
                                                 const std::string &path, int node, bool shared);

    enum class Verdict { Taken, Doubled, Damaged };
    /// Takes a line from the link. What the disk does not take waits in memory, as with this node's own log.
    Verdict take(std::string_view line);
    /// Leaves a line out that this node may not send; it is missing in the copy, visibly.
    Verdict leaveOut(std::string_view line);
    void requestSync();
    [[nodiscard]] const std::string &path() const { return m_path; }
    [[nodiscard]] LogDisk::LogState state() const { return m_log ? m_disk.state(*m_log) : LogDisk::LogState{}; }

    [[nodiscard]] std::uint64_t nextSeq() const { return m_window.nextSeq(); } ///< the first line that is missing
    [[nodiscard]] std::uint64_t durableSeq() const;                            ///< all lines before it are on the disk
    [[nodiscard]] const LogWindow &window() const { return m_window; }

private:
    NodeLog(LogDisk &disk, LogFileReader &reader, std::string path, int node)
        : m_disk(disk), m_path(std::move(path)), m_node(node), m_window(reader, m_path, 0) {}

    [[nodiscard]] Verdict verdictOf(const std::optional<SealedPlace> &place) const;
    void passOverGap(std::uint64_t seq);

    LogDisk &m_disk;
    std::string m_path;
    int m_node;
    LogWindow m_window;
    std::optional<LogDisk::Log> m_log; ///< absent in a shared folder
    std::uint64_t m_bytes = 0, m_gaps = 0;
};

} // namespace lockstep::agent
