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

/// When a disk has not taken so many bytes yet, memory must serve the followers.
inline constexpr std::size_t manyHeldBytes = 1024 * 1024;

/// The readable part of a log that still grows. Its newest sealed lines come from memory, so that readers are served
/// even while the disk is full; older lines come from the file. Not thread safe.
class LogWindow {
public:
    /// Lines before `firstSeq` are in the file already.
    LogWindow(std::string path, std::uint64_t firstSeq);

    /// Adds a line (without newline) that begins at `offset` of the file. `keepMore`: the disk is behind, so memory
    /// must hold more lines.
    void remember(std::string sealed, std::uint64_t offset, bool keepMore);
    [[nodiscard]] std::uint64_t nextSeq() const { return m_tailFirst + m_tail.size(); }

    /// How far a reader has got.
    struct Position {
        std::uint64_t nextSeq = 0;
        std::optional<std::uint64_t> offset; ///< in the file, while the reader reads from there
    };
    /// Appends whole lines with their newlines from `position` on, about `maxBytes` of them, and advances `position`.
    /// Appends nothing when everything has been read or the rest is not on the disk yet.
    void read(Position &position, std::string &out, std::size_t maxBytes) const;

private:
    bool readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const;
    void readFromFile(Position &position, std::string &out, std::size_t maxBytes) const;

    std::string m_path;
    mutable Fd m_readFd; ///< opened on first use: another node's file may be created late
    std::deque<std::string> m_tail;
    std::uint64_t m_tailFirst; ///< seq of m_tail.front()
    std::size_t m_tailBytes = 0;
    std::vector<std::uint64_t> m_index{0}; ///< file offset of every 256th line
};

/// The seq of a sealed line; absent when the line is not sealed.
[[nodiscard]] std::optional<std::uint64_t> seqOfSealedLine(std::string_view line);

} // namespace lockstep::agent
