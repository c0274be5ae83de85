// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/unix_socket.h"

namespace lockstep::agent {

/// What can be read of one log while it grows: its newest sealed lines from memory, so that readers are served while the
/// disk is full, older ones from the file. Not thread safe.
class LogWindow {
public:
    /// Lines up to `firstSeq` lie in the file already.
    LogWindow(std::string path, std::uint64_t firstSeq);

    /// A line (no newline) that begins at `offset` of the file. `keepMore`: the disk is behind, memory has to hold it.
    void remember(std::string sealed, std::uint64_t offset, bool keepMore);
    [[nodiscard]] std::uint64_t nextSeq() const { return m_tailFirst + m_tail.size(); }

    /// How far one reader is.
    struct Position {
        std::uint64_t nextSeq = 0;
        std::optional<std::uint64_t> offset; ///< in the file, when it reads there
    };
    /// Appends whole lines with their newlines from `position` on, about `maxBytes` of them, and moves it.
    /// Appends nothing when all has been read (or the rest waits for the disk).
    void read(Position &position, std::string &out, std::size_t maxBytes) const;

private:
    bool readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const;
    void readFromFile(Position &position, std::string &out, std::size_t maxBytes) const;

    std::string m_path;
    mutable Fd m_readFd; ///< opened when it is first needed: another node's file may come late
    std::deque<std::string> m_tail;
    std::uint64_t m_tailFirst; ///< seq of m_tail.front()
    std::size_t m_tailBytes = 0;
    std::vector<std::uint64_t> m_index{0}; ///< file offset of every 256th line
};

/// The seq a sealed line carries; nothing when it is not sealed.
[[nodiscard]] std::optional<std::uint64_t> seqOfSealedLine(std::string_view line);

} // namespace lockstep::agent
