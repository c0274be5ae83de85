// SPDX-License-Identifier: MIT
#include "trainer/agent/log/log_window.h"

#include <algorithm>
#include <chrono>

namespace lockstep::agent {

namespace {
constexpr std::size_t tailLimit = 4u << 20;
constexpr std::size_t tailLimitWhenDiskIsFull = 64u << 20;
constexpr std::uint64_t indexEvery = 256;
} // namespace

LogWindow::LogWindow(LogFileReader &reader, std::string path, std::uint64_t firstSeq)
    : m_reader(reader), m_file(reader.file(std::move(path))), m_tailFirst(firstSeq) {}

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
    while (out.size() < maxBytes && position.nextSeq < nextSeq())
        if (!readFromMemory(position, out, maxBytes) && !readFromFile(position, out, maxBytes))
            return;
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

/// Takes what was asked for, or asks.
bool LogWindow::readFromFile(Position &position, std::string &out, std::size_t maxBytes) const {
    if (!position.asked.valid()) {
        const std::uint64_t entry = std::min<std::uint64_t>(position.nextSeq / indexEvery, m_index.size() - 1);
        position.asked = m_reader.read(m_file, position.nextSeq, position.offset.value_or(m_index[entry]), maxBytes);
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
