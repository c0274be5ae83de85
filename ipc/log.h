// SPDX-License-Identifier: MIT
#pragma once
// A node's log: append-only NDJSON, one frame a line, each line ending in
//   ,"node":0,"seq":17,"crc":"89abcdef"}
// crc = CRC-32C of all bytes of the line before the last `,"crc":`. Line 0 is the header, seq is gapless from 0.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/file_system.h"
#include "ipc/frames.h"

namespace lockstep {

/// Adds node, seq and crc to one encoded frame (no newline).
[[nodiscard]] std::string sealLine(std::string_view encodedFrame, int node, std::uint64_t seq);
/// Whether a line (no newline) carries a crc and it is right.
[[nodiscard]] bool crcHolds(std::string_view line);

/// Which line of which log a sealed line is; nothing when it is damaged.
struct SealedPlace {
    int node = 0;
    std::uint64_t seq = 0;
};
[[nodiscard]] std::optional<SealedPlace> placeOfSealedLine(std::string_view line);

/// The only writer of node-K.ndjson. Not thread safe.
class LogWriter {
public:
    /// Creates the log with its header, or opens one and truncates a torn tail (a last line without newline or
    /// with a wrong crc).
    static Result<LogWriter> open(FileSystem &fs, const std::string &path, int node, const Frame &header);
    ~LogWriter();
    LogWriter(LogWriter &&) noexcept;
    LogWriter &operator=(LogWriter &&) noexcept;

    /// Appends one encoded frame (no newline, no node/seq/crc) and returns the sealed line (no newline) whether or not
    /// the disk took it. What the disk refuses is kept in memory (up to 64 MiB, oldest kept, then counted as lost)
    /// and written by a later append or sync.
    std::string append(std::string_view encodedFrame);
    Result<void> sync();

    [[nodiscard]] std::uint64_t nextSeq() const;
    [[nodiscard]] std::uint64_t bytes() const; ///< size of the file when all is written
    [[nodiscard]] bool behind() const;         ///< lines wait in memory to be written
    [[nodiscard]] std::uint64_t linesLost() const;

private:
    LogWriter();
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// A gap found while reading: lines that are damaged or missing.
struct LogGap {
    std::uint64_t firstSeq = 0, lastSeq = 0;
    [[nodiscard]] std::uint64_t count() const { return lastSeq - firstSeq + 1; }
    bool operator==(const LogGap &) const = default;
};

/// Follows a stream of sealed lines, from a file or a socket: checks each, reports gaps, drops duplicates.
class LineChecker {
public:
    enum class Verdict { Good, Damaged, Doubled };
    /// `firstSeq`: the seq expected next.
    explicit LineChecker(std::uint64_t firstSeq = 0);
    /// A good line with a higher seq than expected closes a gap (see gaps()).
    Verdict check(std::string_view line);
    /// The same for a line that was checked before: its seq, nothing when it is damaged.
    Verdict checkSeq(std::optional<std::uint64_t> seq);
    [[nodiscard]] std::uint64_t nextSeq() const { return m_next; }
    [[nodiscard]] const std::vector<LogGap> &gaps() const { return m_gaps; }
    [[nodiscard]] std::uint64_t damagedLines() const { return m_damaged; }

private:
    std::uint64_t m_next;
    std::uint64_t m_damaged = 0;
    std::vector<LogGap> m_gaps;
};

struct LogReadReport {
    std::uint64_t lines = 0; ///< good ones
    std::vector<LogGap> gaps;
    std::uint64_t damagedLines = 0;
    bool tornTail = false;
};

/// Reads a log file from `fromSeq` on, good lines only, in order.
[[nodiscard]] Result<LogReadReport> readLog(const std::string &path, std::uint64_t fromSeq,
                                            const std::function<void(std::string_view line)> &onLine);

} // namespace lockstep
