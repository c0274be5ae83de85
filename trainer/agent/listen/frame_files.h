// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "ipc/frames.h"
#include "ipc/run_folder.h"

namespace lockstep::agent {

/// Reads the files of frames that ranks write (--frames FOLDER or FILE) while they grow. The files are polled, because
/// on shared storage the kernel does not report what another machine wrote. In a folder, all files that end in .ndjson
/// are read, interleaved by the time in their lines: ranks that were started again append to their files, and what a
/// rank wrote before comes before what another one wrote after.
class FrameFiles {
public:
    struct Handlers {
        std::function<void(std::string_view line)> onLine; ///< whole lines, each file's in order
        /// A file became shorter and is read again from its start.
        std::function<void(const std::string &file)> onBegunAnew;
        /// A file can't be opened, or is something else than a file; once for each. It is tried again nevertheless.
        /// Or there have come to be too many files: further ones are not read.
        std::function<void(const std::string &sentence)> onRefused;
    };
    /// BadArgument: no such file or folder, a folder of more files than a run has ranks (mostListenedRanks), or that
    /// of a run that an agent keeps, which lockstepctl shows directly.
    static Result<FrameFiles> open(const std::string &path, Handlers handlers);

    /// Passes on what is new, for a few milliseconds, and returns whether there was anything. Call it repeatedly.
    bool poll();
    /// Whether lines wait that the last poll() has read, but not passed on.
    [[nodiscard]] bool behind() const;
    /// What recognises these files; known once poll() passes its first line.
    [[nodiscard]] RecordedFiles source() const;
    /// Looks for files and first frames that have come since poll(), whose lines a later poll() passes on.
    void lookAgain();
    /// RecordedFiles::begin of each file alone: what a run was recognised by before an earlier frame was found.
    [[nodiscard]] std::set<std::string> begins() const;

private:
    struct Place {
        std::uint64_t offset = 0; ///< of what was not read yet
        std::uint64_t size = 0;   ///< of the file, when it was read last
        bool endless = false;     ///< skips to the next newline, because the line is longer than any frame
        bool refused = false;     ///< that it can't be opened was reported
        std::string text;         ///< whole lines
        std::size_t next = 0;     ///< where in the text the next line to pass on begins
        std::int64_t wallUs = 0;  ///< of that line
        /// If the text was dropped: that line and what follows it, up to the offset. It is read again in its turn.
        std::size_t waitingBytes = 0;
        std::string begin; ///< who wrote the file's first frame, and when; empty: none was read yet
        std::int64_t beginWallUs = 0;
        [[nodiscard]] bool hasLine() const { return waitingBytes > 0 || next < text.size(); }
        [[nodiscard]] std::string_view line() const;
    };
    using File = std::pair<const std::string, Place>;
    FrameFiles(std::string path, bool folder, Handlers handlers)
        : m_path(std::move(path)), m_folder(folder), m_handlers(std::move(handlers)) {}
    void beginRound();
    void lineUp(File &file);
    bool findFiles();
    void findMoreFiles();
    bool fill(const std::string &file, Place &place);
    /// If all files hold too much, this one's lines are read again in their turn.
    void keepWithinBudget(Place &place);
    void drop(Place &place); ///< its text
    void moveTo(Place &place, std::size_t next);

    std::string m_path;
    bool m_folder;
    Handlers m_handlers;
    Decoder m_decoder;
    std::map<std::string, Place> m_places;
    /// Those of them whose next line is read and to be passed on, by its time; of one time, by name. A round ends when none is left.
    std::map<std::pair<std::int64_t, std::string_view>, File *> m_heads;
    std::uint64_t m_passed = 0;  ///< in this round
    std::size_t m_heldBytes = 0; ///< of all texts
    bool m_reportedTooMany = false;
    bool m_skipped = false; ///< in this poll, a part of a line that is longer than any frame
};

} // namespace lockstep::agent
