// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ipc/log.h"
#include "ipc/unix_socket.h"

namespace lockstep {

namespace {

/// Judges a log's lines one by one.
class Reading {
public:
    Reading(std::uint64_t fromSeq, const std::function<void(std::string_view)> &onLine)
        : m_fromSeq(fromSeq), m_onLine(onLine) {}

    void line(std::string_view line) {
        const std::uint64_t before = m_checker.nextSeq();
        switch (m_checker.check(line)) {
        case LineChecker::Verdict::Good:
            m_damagedInARow = 0;
            if (m_checker.nextSeq() > m_fromSeq) {
                ++m_report.lines;
                m_onLine(line);
            }
            break;
        case LineChecker::Verdict::Damaged:
            // A byte that became a newline makes two pieces of one line: only the last one has the line's end.
            m_damagedInARow += line.ends_with("\"}") ? 1 : 0;
            m_lastIsDamaged = true;
            if (before >= m_fromSeq)
                ++m_report.damagedLines;
            return;
        case LineChecker::Verdict::Doubled:
            break;
        }
        m_lastIsDamaged = false;
    }

    /// More bytes than any line has.
    void hugeLine() { line({}); }

    LogReadReport finish(bool tornTail) {
        m_report.tornTail = tornTail;
        m_report.gaps = m_checker.gaps();
        // Damaged lines at the end have no good line after them to tell what is missing.
        if (m_lastIsDamaged) {
            const std::uint64_t lost = std::max<std::uint64_t>(1, m_damagedInARow);
            m_report.gaps.push_back({m_checker.nextSeq(), m_checker.nextSeq() + lost - 1});
        }
        std::erase_if(m_report.gaps, [&](const LogGap &gap) { return gap.lastSeq < m_fromSeq; });
        for (LogGap &gap : m_report.gaps)
            gap.firstSeq = std::max(gap.firstSeq, m_fromSeq);
        return std::move(m_report);
    }

private:
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
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid())
        return fail(Error::system("can't read the log " + path, errno));
    constexpr std::size_t block = 256 * 1024;
    Reading reading(fromSeq, onLine);
    std::string buffer; // at most a block and an unfinished line
    bool skipping = false;
    while (true) {
        const std::size_t kept = buffer.size();
        buffer.resize(kept + block);
        const ssize_t got = ::read(fd.get(), buffer.data() + kept, block);
        const int error = errno;
        buffer.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && error == EINTR)
            continue;
        if (got < 0)
            return fail(Error::system("can't read the log " + path, error));
        if (got == 0)
            break;
        std::size_t from = 0;
        for (std::size_t end; (end = buffer.find('\n', std::max(from, kept))) != std::string::npos; from = end + 1) {
            if (!std::exchange(skipping, false))
                reading.line(std::string_view(buffer).substr(from, end - from));
        }
        buffer.erase(0, from);
        // Two lines whose newline is damaged are one too long: its memory stays bounded all the same.
        if (buffer.size() > 4 * maxFrameBytes) {
            if (!std::exchange(skipping, true))
                reading.hugeLine();
            buffer.clear();
        }
    }
    return reading.finish(!buffer.empty() || skipping);
}

} // namespace lockstep
