// SPDX-License-Identifier: MIT
#include "trainer/agent/log/log_window.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "ipc/frames.h"

namespace lockstep::agent {

namespace {
constexpr std::size_t tailLimit = 4u << 20;
constexpr std::size_t tailLimitWhenDiskIsFull = 64u << 20;
constexpr std::uint64_t indexEvery = 256;
} // namespace

std::optional<std::uint64_t> seqOfSealedLine(std::string_view line) {
    constexpr std::string_view key = ",\"seq\":";
    const auto crc = line.rfind(",\"crc\":");
    if (crc == std::string_view::npos)
        return std::nullopt;
    const auto at = line.rfind(key, crc);
    if (at == std::string_view::npos)
        return std::nullopt;
    std::uint64_t seq = 0;
    const auto parsed = std::from_chars(line.data() + at + key.size(), line.data() + crc, seq);
    if (parsed.ec != std::errc() || parsed.ptr != line.data() + crc)
        return std::nullopt;
    return seq;
}

LogWindow::LogWindow(std::string path, std::uint64_t firstSeq) : m_path(std::move(path)), m_tailFirst(firstSeq) {}

void LogWindow::remember(std::string sealed, std::uint64_t offset, bool keepMore) {
    const std::uint64_t seq = nextSeq();
    if (seq % indexEvery == 0 && seq / indexEvery == m_index.size())
        m_index.push_back(offset);
    m_tailBytes += sealed.size();
    m_tail.push_back(std::move(sealed));
    const std::size_t limit = keepMore ? tailLimitWhenDiskIsFull : tailLimit;
    while (m_tailBytes > limit && m_tail.size() > 1) {
        m_tailBytes -= m_tail.front().size();
        m_tail.pop_front();
        ++m_tailFirst;
    }
}

void LogWindow::read(Position &position, std::string &out, std::size_t maxBytes) const {
    while (out.size() < maxBytes && position.nextSeq < nextSeq()) {
        if (readFromMemory(position, out, maxBytes))
            continue;
        const Position before = position;
        readFromFile(position, out, maxBytes);
        if (position.nextSeq == before.nextSeq && position.offset == before.offset)
            return; // the other lines are not in the file yet
    }
}

bool LogWindow::readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const {
    if (position.nextSeq < m_tailFirst || position.nextSeq >= m_tailFirst + m_tail.size())
        return false;
    position.offset.reset();
    while (out.size() < maxBytes && position.nextSeq < m_tailFirst + m_tail.size()) {
        if (const std::string &line = m_tail[position.nextSeq - m_tailFirst]; !line.empty())
            out.append(line).push_back('\n');
        ++position.nextSeq;
    }
    return true;
}

void LogWindow::readFromFile(Position &position, std::string &out, std::size_t maxBytes) const {
    if (!m_readFd.valid())
        m_readFd = Fd(::open(m_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!position.offset) {
        const std::uint64_t entry = std::min<std::uint64_t>(position.nextSeq / indexEvery, m_index.size() - 1);
        position.offset = m_index[entry];
    }
    // Room for at least one of the longest lines, since only whole lines are taken.
    std::string chunk(std::max(maxBytes, 2 * maxFrameBytes), '\0');
    const ssize_t n = ::pread(m_readFd.get(), chunk.data(), chunk.size(), static_cast<off_t>(*position.offset));
    if (n <= 0)
        return;
    std::string_view left(chunk.data(), static_cast<std::size_t>(n));
    for (auto end = left.find('\n'); end != std::string_view::npos && out.size() < maxBytes; end = left.find('\n')) {
        const std::string_view line = left.substr(0, end);
        left.remove_prefix(end + 1);
        *position.offset += end + 1;
        const auto seq = seqOfSealedLine(line);
        if (!seq || *seq < position.nextSeq)
            continue; // before the first line that is wanted
        out.append(line).push_back('\n');
        position.nextSeq = *seq + 1;
    }
}

} // namespace lockstep::agent
