// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "ipc/line_file.h"

namespace lockstep::agent {

/// Who asks something of the disk regularly waits with it while the disk is busy for longer.
inline constexpr std::chrono::milliseconds longestBusy{1000};

/// Everything that an agent writes while its run goes on is written by a thread of this ("lockstep-disk"): a disk that is
/// slow, full, failing or does not answer at all stalls nobody, and holds up no stop. What it does not take waits in memory,
/// within bounds. All calls from one thread; none waits for the disk, except where it is said.
class LogDisk {
public:
    /// A log, from the first to the last line.
    using Log = std::size_t;
    struct LogState {
        std::uint64_t durable = 0;   ///< mark of the newest request whose lines are safe on the disk
        std::size_t heldBytes = 0;   ///< of lines that are not written yet
        std::uint64_t linesLost = 0; ///< memory for them was full
        std::string writeError;      ///< why lines wait; empty: they don't
        std::string syncError;       ///< why written lines may not be safe; empty: they are, or will be in a moment
    };
    /// A console or the like: written in order and not synced. What the disk refuses, up to 1 MiB and 64 MiB of all together, is kept
    /// for retry() and the next write(); of more, the file then says how many bytes are missing.
    class Text;

    /// `spare`: a path. Its logs and texts can be left out, and keep reservedBytes() of that path's disk free as if it were full.
    explicit LogDisk(const std::string &spare = {});
    ~LogDisk(); ///< waits until all is written, but not for a disk that does not answer
    LogDisk(const LogDisk &) = delete;
    LogDisk &operator=(const LogDisk &) = delete;

    Log add(LineFile file);
    bool append(Log log, std::string line); ///< with its newline; false: it is lost, since too much is held
    /// Asks for a sync soon. `mark` says how much was appended so far, in a unit that the caller chooses. A failed sync is
    /// tried again at growing intervals; `now`: at once.
    void requestSync(Log log, std::uint64_t mark = 0, bool now = false);
    [[nodiscard]] LogState state(Log log) const;

    /// Made if it isn't there, with mode 0600. It stays open for the next bytes, unless there may be one for each of many ranks, which
    /// would leave no descriptors.
    [[nodiscard]] std::shared_ptr<Text> openText(std::string path, bool staysOpen = true);
    /// Waits for room if the disk answers but lags far behind, so that a console in full flood is kept whole.
    void write(const std::shared_ptr<Text> &text, std::string bytes);
    void retry(const std::shared_ptr<Text> &text); ///< writes what the disk has refused, if anything

    /// Runs `job` on the thread, after everything that was asked for before.
    std::future<void> run(std::function<void()> job);

    /// The same for a question: what `question` returns is called by the next deliver().
    std::future<void> ask(std::function<std::function<void()>()> question);
    /// The same for a long one: `piece` is called until it returns an answer, with what else is to be written in between. It is given up
    /// when this goes.
    void askInPieces(std::function<std::optional<std::function<void()>>()> piece);
    void deliver(); ///< call now and then

    /// For how long the disk has worked at what it is doing now; 0: it has nothing to do.
    [[nodiscard]] std::chrono::milliseconds busyFor() const;
    /// The same if it is so long that the disk counts as one that does not answer; else 0.
    [[nodiscard]] std::chrono::milliseconds silentFor() const;

private:
    struct State; ///< shared with the thread, which may outlive this if the disk does not answer
    std::shared_ptr<State> m_state;
};

} // namespace lockstep::agent
