// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/alerts.h"
#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/log.h"
#include "ipc/logging.h"
#include "trainer/agent/log/log_disk.h"
#include "trainer/agent/log/log_file_reader.h"
#include "trainer/agent/log/log_window.h"

namespace lockstep::agent {

/// This node's log, and the source for all followers. It is the only writer of its file, on a thread of its own (LogDisk).
/// The newest lines are also kept in memory, so that followers are served whatever the disk does. All calls from one
/// thread.
class RunJournal {
public:
    /// `spare`: as LogDisk's.
    static Result<std::unique_ptr<RunJournal>> open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                    int node, const std::string &runId, const std::string &host,
                                                    const std::string &spare = {});

    /// Appends a frame of the agent, with the clocks stamped.
    void append(Frame frame);
    void append(FrameBody body, std::optional<int> rank = std::nullopt);
    /// The agent's own entries: a log message, an alert, the state of the run.
    void note(std::string level, std::string text);
    void alert(AlertName name, std::string message, std::optional<int> rank = std::nullopt);
    void state(RunState state, std::string detail = {});
    /// Onto the agent's console, by the disk's thread: it may be a file on a disk that does not answer.
    void sayOnConsole(LogLevel level, const std::string &text);
    /// Appends a rank's encoded frame, byte for byte.
    void appendLine(std::string_view encoded);

    void requestSync();                                           ///< soon
    void finish() { m_disk.requestSync(m_log, m_nextSeq, true); } ///< at once, even if the last sync has failed

    [[nodiscard]] std::uint64_t nextSeq() const { return m_nextSeq; }
    [[nodiscard]] const std::string &path() const { return m_path; }
    [[nodiscard]] LogDisk::LogState state() const { return m_disk.state(m_log); }
    [[nodiscard]] LogDisk &disk() { return m_disk; } ///< for what else is written in the run's folder
    [[nodiscard]] LogFileReader &reader() { return m_reader; }

    using Position = LogWindow::Position;
    /// See LogWindow::read().
    void read(Position &position, std::string &out, std::size_t maxBytes) const {
        m_window.read(position, out, maxBytes);
    }

private:
    RunJournal(LogWriter writer, const std::string &header, const Clock &clock, std::string path, int node,
               const std::string &spare);

    const Clock &m_clock;
    std::string m_path;
    int m_node;
    std::uint64_t m_nextSeq, m_bytes; ///< `m_bytes`: size of the file once everything is written
    LogFileReader m_reader;
    LogWindow m_window;
    LogDisk m_disk;
    LogDisk::Log m_log;
};

/// Writes an alert into the log and onto the agent's console.
void alertAndLog(RunJournal &journal, AlertName name, std::string message, std::optional<int> rank = std::nullopt);

} // namespace lockstep::agent
