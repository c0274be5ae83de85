// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/log.h"
#include "trainer/agent/log/disk_sync.h"
#include "trainer/agent/log/log_window.h"

namespace lockstep::agent {

/// This node's log, and the source for all followers. It is the only writer of its file. The newest lines are also kept
/// in memory, so that followers are served while the disk is full. All calls from one thread.
class RunJournal {
public:
    static Result<std::unique_ptr<RunJournal>> open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                    int node, const std::string &runId, const std::string &host);

    /// Appends a frame of the agent, with the clocks stamped.
    void append(Frame frame);
    void append(FrameBody body, std::optional<int> rank = std::nullopt);
    /// The agent's own entries: a log message, an alert (severity "warning" or "error"), the state of the run.
    void note(std::string level, std::string text);
    void alert(std::string severity, std::string kind, std::string message, std::optional<int> rank = std::nullopt);
    void state(RunState state, std::string detail = {});
    /// Appends a rank's encoded frame, byte for byte.
    void appendLine(std::string_view encoded);

    void requestSync(); ///< soon, on the sync thread
    void finish();      ///< writes and syncs everything

    [[nodiscard]] std::uint64_t nextSeq() const { return m_writer.nextSeq(); }
    [[nodiscard]] bool behind() const { return m_writer.behind(); }
    [[nodiscard]] std::uint64_t linesLost() const { return m_writer.linesLost(); }

    using Position = LogWindow::Position;
    /// See LogWindow::read().
    void read(Position &position, std::string &out, std::size_t maxBytes) const {
        m_window.read(position, out, maxBytes);
    }

private:
    RunJournal(LogWriter writer, const Clock &clock, std::string path);

    LogWriter m_writer;
    const Clock &m_clock;
    LogWindow m_window;
    DiskSync m_sync;
    std::size_t m_syncFile;
};

/// Writes an alert into the log and onto the agent's console.
void alertAndLog(RunJournal &journal, std::string severity, std::string kind, std::string message,
                 std::optional<int> rank = std::nullopt);

} // namespace lockstep::agent
