// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/agent/log/log_file_reader.h"

namespace lockstep::agent {

/// When a disk has not taken so many bytes yet, memory must serve the followers.
inline constexpr std::size_t manyHeldBytes = 1024 * 1024;

/// The readable part of a log that still grows. Its newest sealed lines come from memory, so that readers are served
/// even while the disk is full; older lines come from the file. Not thread safe; nothing here waits for the disk.
class LogWindow {
public:
    /// Lines before `firstSeq` are in the file already. `reader` outlives this.
    LogWindow(LogFileReader &reader, std::string path, std::uint64_t firstSeq);

    /// Adds a line (without newline) that begins at `offset` of the file. `keepMore`: the disk is behind, so memory
    /// must hold more lines.
    void remember(std::string sealed, std::uint64_t offset, bool keepMore);
    /// The lines before this one are lost: none of them will come.
    void skipTo(std::uint64_t seq) { m_nextSeq = std::max(m_nextSeq, seq); }
    [[nodiscard]] std::uint64_t nextSeq() const { return m_nextSeq; }

    /// How far a reader has got.
    struct Position {
        std::uint64_t nextSeq = 0;
        std::optional<std::uint64_t> offset; ///< in the file, while lines come from there
        std::future<LogFileReader::Lines> asked;
    };
    /// Appends whole lines with their newlines from `position` on, about `maxBytes` of them, and advances `position`.
    /// Appends nothing when everything has been read, or when the next lines must come from the file first: call again when
    /// LogFileReader::foundFd() is readable, and now and then, since they may not be on the disk yet.
    void read(Position &position, std::string &out, std::size_t maxBytes) const;

private:
    bool readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const;
    bool readFromFile(Position &position, std::string &out, std::size_t maxBytes) const;

    LogFileReader &m_reader;
    std::shared_ptr<LogFileReader::File> m_file;
    struct Line {
        std::uint64_t seq;
        std::string text;
    };
    struct Entry {
        std::uint64_t seq, offset;
    };
    std::uint64_t m_nextSeq, m_tailFirst; ///< m_tail has all lines from that one on
    std::deque<Line> m_tail;
    std::size_t m_tailBytes = 0;
    std::vector<Entry> m_index{{0, 0}}; ///< where lines begin in the file, some every 64 KiB
};

} // namespace lockstep::agent
