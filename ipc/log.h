// SPDX-License-Identifier: MIT
#pragma once
// The log of a node: append-only NDJSON, one frame per line. Each line ends in
//   ,"node":0,"seq":17,"crc":"89abcdef"}
// crc is the CRC-32C of all bytes of the line before the last `,"crc":`. Line 0 is the header; seq counts from 0
// without gaps.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/file_system.h"
#include "ipc/frames.h"

namespace lockstep {

class LineFile;

/// Adds node, seq and crc to an encoded frame (no newline).
[[nodiscard]] std::string sealLine(std::string_view encodedFrame, int node, std::uint64_t seq);
/// Whether a line (no newline) has a crc and it is correct.
[[nodiscard]] bool crcHolds(std::string_view line);

/// Node and seq of a sealed line. A node beyond a run's most (mostNodes) is none.
struct SealedPlace {
    int node = 0;
    std::uint64_t seq = 0;
};
[[nodiscard]] std::optional<SealedPlace> placeOfSealedLine(std::string_view line);

/// What stands between two line ends of a log: one record, or several where damaged line ends have made one line of them.
///     for (LineRecords records(line); records.next();) …
class LineRecords {
public:
    explicit LineRecords(std::string_view line) : m_rest(line) {}
    bool next(); ///< false: there is no further one
    [[nodiscard]] std::string_view record() const { return m_record; }
    [[nodiscard]] const std::optional<SealedPlace> &place() const { return m_place; } ///< absent: the record is damaged

private:
    std::string_view m_rest, m_record;
    std::optional<SealedPlace> m_place;
    int m_count = 0;
    bool m_over = false;
};

/// The only writer of node-K.ndjson. Not thread safe.
class LogWriter {
public:
    /// Creates the log with its header, or opens an existing one. A torn tail (a last line without newline or with a
    /// wrong crc) is truncated.
    static Result<LogWriter> open(FileSystem &fs, const std::string &path, int node, const Frame &header);
    ~LogWriter();
    LogWriter(LogWriter &&) noexcept;
    LogWriter &operator=(LogWriter &&) noexcept;

    /// Appends an encoded frame (without newline, node, seq and crc). Returns the sealed line (no newline), whether or
    /// not it could be written. Lines that could not be written are kept in memory, up to 64 MiB, and written by a
    /// later append or sync. Beyond that, new lines are dropped and counted as lost.
    std::string append(std::string_view encodedFrame);
    Result<void> sync();

    [[nodiscard]] std::uint64_t nextSeq() const;
    [[nodiscard]] std::uint64_t bytes() const; ///< size of the file once everything is written
    [[nodiscard]] bool behind() const;         ///< lines in memory wait to be written
    [[nodiscard]] std::uint64_t linesLost() const;

    /// The file without the sealing, for an owner that seals its lines itself. The writer is of no use afterwards.
    [[nodiscard]] LineFile release() &&;

private:
    struct Impl;
    explicit LogWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

/// Lines that are damaged or missing, found while reading.
struct LogGap {
    std::uint64_t firstSeq = 0, lastSeq = 0;
    [[nodiscard]] std::uint64_t count() const { return lastSeq - firstSeq + 1; }
    [[nodiscard]] std::string text() const; ///< "3 frames lost, seq 17-19"
    bool operator==(const LogGap &) const = default;
};

/// All gaps of a log, or of several. The first ones are kept and the others only counted: a log may consist of gaps.
class LogGaps {
public:
    static constexpr std::size_t mostListed = 1000;
    LogGaps() = default;
    LogGaps(std::initializer_list<LogGap> gaps);
    void add(const LogGap &gap);
    void add(const LogGaps &gaps);
    [[nodiscard]] bool empty() const { return m_count == 0; }
    [[nodiscard]] std::uint64_t count() const { return m_count; }   ///< of gaps
    [[nodiscard]] std::uint64_t frames() const { return m_frames; } ///< that all gaps lack
    [[nodiscard]] const std::vector<LogGap> &listed() const { return m_listed; }
    /// Of those that are not listed: "and 2 more gaps: 7 frames lost"; empty: all are listed.
    [[nodiscard]] std::string textOfOthers() const;
    bool operator==(const LogGaps &) const = default;

private:
    std::vector<LogGap> m_listed;
    std::uint64_t m_count = 0, m_frames = 0;
};

/// Checks a stream of sealed lines, from a file or a socket: each line's crc, gaps and duplicates.
class LineChecker {
public:
    enum class Verdict { Good, Damaged, Doubled };
    /// `firstSeq` is the seq that is expected first.
    explicit LineChecker(std::uint64_t firstSeq = 0);
    /// A good line with a higher seq than expected ends a gap (see gaps()).
    Verdict check(std::string_view line);
    /// The same for a line that was checked before, given its seq; absent means damaged.
    Verdict checkSeq(std::optional<std::uint64_t> seq);
    [[nodiscard]] std::uint64_t nextSeq() const { return m_next; }
    [[nodiscard]] const LogGaps &gaps() const { return m_gaps; }
    [[nodiscard]] std::uint64_t damagedLines() const { return m_damaged; }

private:
    std::uint64_t m_next;
    std::uint64_t m_damaged = 0;
    LogGaps m_gaps;
};

struct LogReadReport {
    std::uint64_t lines = 0; ///< good lines
    LogGaps gaps;
    std::uint64_t damagedLines = 0;
    bool tornTail = false;
};

/// Reads a log file and calls `onLine` with the good lines from `fromSeq` on, in order.
[[nodiscard]] Result<LogReadReport> readLog(const std::string &path, std::uint64_t fromSeq,
                                            const std::function<void(std::string_view line)> &onLine);

} // namespace lockstep
