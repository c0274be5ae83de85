#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ipc/clock.h"
#include "ipc/frames.h"
#include "ipc/log.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// The node's log as the agent uses it: the only writer, and every follower's source. The newest lines are also kept in
/// memory, so that followers are served while the disk is full. A thread of its own ("lockstep-sync") calls fdatasync,
/// because a busy disk takes long and neither ranks nor followers may wait for it. All calls from one thread.
class RunJournal {
public:
    static Result<std::unique_ptr<RunJournal>> open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                    int node, const std::string &runId, const std::string &host);
    ~RunJournal();

    /// An agent's frame; stamps the clocks.
    void append(Frame frame);
    void append(FrameBody body, std::optional<int> rank = std::nullopt);
    /// A rank's encoded frame, kept byte for byte.
    void appendLine(std::string_view encoded);

    void requestSync(); ///< soon, by the thread
    void finish();      ///< writes and syncs what there is

    [[nodiscard]] std::uint64_t nextSeq() const { return m_writer.nextSeq(); }
    [[nodiscard]] bool behind() const { return m_writer.behind(); }
    [[nodiscard]] std::uint64_t linesLost() const { return m_writer.linesLost(); }

    /// How far one follower is.
    struct Position {
        std::uint64_t nextSeq = 0;
        std::optional<std::uint64_t> offset; ///< in the file, when it reads there
    };
    /// Appends whole lines with their newlines from `position` on, about `maxBytes` of them, and moves it.
    /// Appends nothing when all has been read (or the rest waits for the disk).
    void read(Position &position, std::string &out, std::size_t maxBytes);

private:
    RunJournal(LogWriter writer, const Clock &clock, std::string path);
    void remember(std::string sealed);
    bool readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const;
    void readFromFile(Position &position, std::string &out, std::size_t maxBytes) const;
    void syncLoop();

    LogWriter m_writer;
    const Clock &m_clock;
    std::string m_path;
    Fd m_readFd;
    std::deque<std::string> m_tail; ///< newest sealed lines, without newline
    std::uint64_t m_tailFirst = 0;  ///< seq of m_tail.front()
    std::size_t m_tailBytes = 0;
    std::vector<std::uint64_t> m_index; ///< file offset of every 256th line

    std::mutex m_mutex; ///< guards the two below
    std::condition_variable m_wake;
    bool m_syncWanted = false, m_stopSync = false;
    std::thread m_syncThread;
};

/// The seq a sealed line carries; nothing when it is not sealed.
[[nodiscard]] std::optional<std::uint64_t> seqOfSealedLine(std::string_view line);

} // namespace lockstep::agent
