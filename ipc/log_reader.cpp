// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ipc/log.h"
#include "ipc/regular_file.h"

namespace lockstep {

namespace {

/// Checks the lines of a log one by one.
class Reading {
public:
    Reading(std::uint64_t fromSeq, const std::function<void(std::string_view)> &onLine)
        : m_fromSeq(fromSeq), m_onLine(onLine) {}

    void line(std::string_view line) {
        for (LineRecords records(line); records.next();)
            take(records.record(), records.place() ? std::optional(records.place()->seq) : std::nullopt);
    }

    /// For a line that is longer than any valid one.
    void hugeLine() { take({}, std::nullopt); }

    LogReadReport finish(bool tornTail) {
        m_report.tornTail = tornTail;
        // After damaged lines at the end no good line follows whose seq would show what is missing.
        if (m_lastIsDamaged) {
            const std::uint64_t lost = std::max<std::uint64_t>(1, m_damagedInARow);
            addGap(m_checker.nextSeq(), m_checker.nextSeq() + lost);
        }
        return std::move(m_report);
    }

private:
    /// That part of it counts that is not before the first line asked for.
    void addGap(std::uint64_t firstSeq, std::uint64_t endSeq) {
        if (const std::uint64_t first = std::max(firstSeq, m_fromSeq); first < endSeq)
            m_report.gaps.add(LogGap{first, endSeq - 1});
    }

    void take(std::string_view record, std::optional<std::uint64_t> seq) {
        const std::uint64_t before = m_checker.nextSeq();
        switch (m_checker.checkSeq(seq)) {
        case LineChecker::Verdict::Good:
            m_damagedInARow = 0;
            addGap(before, m_checker.nextSeq() - 1);
            if (m_checker.nextSeq() > m_fromSeq) {
                ++m_report.lines;
                m_onLine(record);
            }
            break;
        case LineChecker::Verdict::Damaged:
            // A byte that turned into a newline cuts a record in two pieces; count only the piece that ends like one.
            m_damagedInARow += record.ends_with("\"}") ? 1 : 0;
            m_lastIsDamaged = true;
            if (before >= m_fromSeq)
                ++m_report.damagedLines;
            return;
        case LineChecker::Verdict::Doubled:
            break;
        }
        m_lastIsDamaged = false;
    }

    std::uint64_t m_fromSeq;
    const std::function<void(std::string_view)> &m_onLine;
    LineChecker m_checker;
    LogReadReport m_report;
    std::uint64_t m_damagedInARow = 0;
    bool m_lastIsDamaged = false;
};

} // namespace

Result<LogReadReport> readLog(const std::string &path, std::uint64_t fromSeq,
                              const std::function<void(std::string_view line)> &onLine) {
    const Result<Fd> fd = openRegular(path);
    if (!fd)
        return fail(fd.error());
    constexpr std::size_t block = 256 * 1024;
    Reading reading(fromSeq, onLine);
    std::string buffer; // at most one block and an unfinished line
    bool skipping = false;
    off_t position = 0;
    while (true) {
        const std::size_t kept = buffer.size();
        buffer.resize(kept + block);
        const ssize_t got = ::read(fd->get(), buffer.data() + kept, block);
        const int error = errno;
        buffer.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && error == EINTR)
            continue;
        if (got < 0)
            return fail(Error::system("can't read the log " + path, error));
        if (got == 0)
            break;
        position += got;
        std::size_t from = 0;
        for (std::size_t end; (end = buffer.find('\n', std::max(from, kept))) != std::string::npos; from = end + 1) {
            if (!std::exchange(skipping, false))
                reading.line(std::string_view(buffer).substr(from, end - from));
        }
        buffer.erase(0, from);
        // If the newline between lines is damaged, they make one line that is too long. This bounds its memory.
        if (buffer.size() > 4 * maxFrameBytes) {
            if (!std::exchange(skipping, true))
                reading.hugeLine();
            buffer.clear();
            position = nextData(fd->get(), position);
        }
    }
    return reading.finish(!buffer.empty() || skipping);
}

} // namespace lockstep
