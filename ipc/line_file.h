// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "ipc/file_system.h"

namespace lockstep {

/// A file of lines that only grows. Lines that the disk does not take are kept in memory and written again later, and so
/// are lines whose sync has failed: the kernel may have dropped them although it calls them written. Not thread safe.
class LineFile {
public:
    static constexpr std::size_t mostHeldBytes = 64 * 1024 * 1024;

    /// `file` holds whole lines, `size` bytes of them, which count as safe on the disk.
    LineFile(std::unique_ptr<AppendFile> file, std::uint64_t size);

    /// Takes a line with its newline; flush() writes it. False, and the line is lost, if too much is held already: so
    /// the oldest lines are kept, and there is one gap, at the end, of a known size.
    bool add(std::string line);
    Result<void> flush(); ///< writes what waits
    /// Writes what waits and syncs the file. After an error the lines since the last good sync wait again.
    Result<void> sync();

    [[nodiscard]] std::uint64_t bytes() const { return m_written + m_waitingBytes; } ///< once all is written
    [[nodiscard]] bool behind() const { return !m_waiting.empty(); }                 ///< lines wait to be written
    [[nodiscard]] std::size_t waitingBytes() const { return m_waitingBytes; }
    [[nodiscard]] std::uint64_t linesLost() const { return m_lost; }
    /// Whether a sync failed and more came since than is kept: some lines may be missing on the disk for good.
    [[nodiscard]] bool uncertain() const { return m_uncertain; }

private:
    void wrote(std::string_view block);
    void takeBackUnsynced();

    std::unique_ptr<AppendFile> m_file;
    std::uint64_t m_written;           ///< what the file should contain, in whole lines
    std::uint64_t m_synced;            ///< of these, the bytes that are safe on the disk
    std::string m_unsynced;            ///< the bytes between the two
    bool m_unsyncedWhole = true;       ///< false when `m_unsynced` grew too large and was dropped
    std::deque<std::string> m_waiting; ///< lines, with their newlines, that could not be written
    std::size_t m_waitingBytes = 0;
    std::uint64_t m_lost = 0;
    bool m_uncertain = false;
};

} // namespace lockstep
