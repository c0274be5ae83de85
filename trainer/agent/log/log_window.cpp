// SPDX-License-Identifier: MIT
#include "trainer/agent/log/log_window.h"

#include <algorithm>
#include <chrono>

namespace lockstep::agent {

namespace {
constexpr std::size_t tailLimit = 4u << 20;
constexpr std::size_t tailLimitWhenDiskIsFull = 64u << 20;
constexpr std::uint64_t indexEvery = 64 * 1024; ///< bytes of the file
} // namespace

LogWindow::LogWindow(LogFileReader &reader, std::string path, std::uint64_t firstSeq)
    : m_reader(reader), m_file(reader.file(std::move(path))), m_nextSeq(firstSeq), m_tailFirst(firstSeq) {}

void LogWindow::remember(std::string sealed, std::uint64_t offset, bool keepMore) {
    const std::uint64_t seq = m_nextSeq++;
    if (offset >= m_index.back().offset + indexEvery)
        m_index.push_back({seq, offset});
    m_tailBytes += sealed.size();
    m_tail.push_back({seq, std::move(sealed)});
    const std::size_t limit = keepMore ? tailLimitWhenDiskIsFull : tailLimit;
    while (m_tailBytes > limit && m_tail.size() > 1) {
        m_tailBytes -= m_tail.front().text.size();
        m_tailFirst = m_tail.front().seq + 1;
        m_tail.pop_front();
    }
}

void LogWindow::read(Position &position, std::string &out, std::size_t maxBytes) const {
    while (out.size() < maxBytes && position.nextSeq < nextSeq())
        if (!readFromMemory(position, out, maxBytes) && !readFromFile(position, out, maxBytes))
            return;
}

bool LogWindow::readFromMemory(Position &position, std::string &out, std::size_t maxBytes) const {
    if (position.nextSeq < m_tailFirst)
        return false;
    position.offset.reset();
    auto line = std::ranges::lower_bound(m_tail, position.nextSeq, {}, &Line::seq);
    for (; line != m_tail.end() && out.size() < maxBytes; ++line) {
        out.append(line->text).push_back('\n');
        position.nextSeq = line->seq + 1;
    }
    if (line == m_tail.end())
        position.nextSeq = m_nextSeq;
    return true;
}

/// Takes what was asked for, or asks.
bool LogWindow::readFromFile(Position &position, std::string &out, std::size_t maxBytes) const {
    if (!position.asked.valid()) {
        const auto entry = std::ranges::upper_bound(m_index, position.nextSeq, {}, &Entry::seq) - 1;
        position.asked = m_reader.read(m_file, position.nextSeq, position.offset.value_or(entry->offset), maxBytes);
        return false;
    }
    if (position.asked.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        return false;
    const LogFileReader::Lines lines = position.asked.get();
    out += lines.text;
    position.nextSeq = lines.nextSeq;
    position.offset = lines.offset;
    return lines.found;
}

} // namespace lockstep::agent
