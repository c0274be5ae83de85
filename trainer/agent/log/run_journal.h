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

/// The node's log as the agent uses it: the only writer, and every follower's source. The newest lines are also kept in
/// memory, so that followers are served while the disk is full. All calls from one thread.
class RunJournal {
public:
    static Result<std::unique_ptr<RunJournal>> open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                    int node, const std::string &runId, const std::string &host);

    /// An agent's frame; stamps the clocks.
    void append(Frame frame);
    void append(FrameBody body, std::optional<int> rank = std::nullopt);
    /// The agent's own entries: a remark, an alert (severity "warning" or "error"), the state of the run.
    void note(std::string level, std::string text);
    void alert(std::string severity, std::string kind, std::string message, std::optional<int> rank = std::nullopt);
    void state(RunState state, std::string detail = {});
    /// A rank's encoded frame, kept byte for byte.
    void appendLine(std::string_view encoded);

    void requestSync(); ///< soon, by the thread
    void finish();      ///< writes and syncs what there is

    [[nodiscard]] std::uint64_t nextSeq() const { return m_writer.nextSeq(); }
    [[nodiscard]] bool behind() const { return m_writer.behind(); }
    [[nodiscard]] std::uint64_t linesLost() const { return m_writer.linesLost(); }

    using Position = LogWindow::Position;
    /// As LogWindow::read().
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

/// An alert that the agent's own console shows, too.
void alertAndLog(RunJournal &journal, std::string severity, std::string kind, std::string message,
                 std::optional<int> rank = std::nullopt);

} // namespace lockstep::agent
