// SPDX-License-Identifier: MIT
#include "ipc/line_file.h"

#include <iterator>

namespace lockstep {

namespace {
constexpr std::size_t blockBytes = 64 * 1024;
/// How much is kept to be written again if a sync fails. Owners sync each second, so this is far more than needed.
constexpr std::size_t maxUnsyncedBytes = 64 * 1024 * 1024;
} // namespace

LineFile::LineFile(std::unique_ptr<AppendFile> file, std::uint64_t size)
    : m_file(std::move(file)), m_written(size), m_synced(size) {}

bool LineFile::add(std::string line) {
    if (m_waitingBytes + line.size() > mostHeldBytes) {
        ++m_lost;
        return false;
    }
    m_waitingBytes += line.size();
    m_waiting.push_back(std::move(line));
    return true;
}

Result<void> LineFile::flush() {
    // A failed append that could not be undone has left part of a line.
    if (m_file->size() != m_written)
        if (auto cut = m_file->truncate(m_written); !cut)
            return cut;
    while (!m_waiting.empty()) {
        std::string block;
        std::size_t lines = 0;
        while (lines < m_waiting.size() && (lines == 0 || block.size() + m_waiting[lines].size() <= blockBytes))
            block += m_waiting[lines++];
        if (auto appended = m_file->append(block); !appended)
            return appended;
        wrote(block);
        m_waiting.erase(m_waiting.begin(), m_waiting.begin() + static_cast<std::ptrdiff_t>(lines));
    }
    return {};
}

void LineFile::wrote(std::string_view block) {
    m_written += block.size();
    m_waitingBytes -= block.size();
    m_unsyncedWhole = m_unsyncedWhole && m_unsynced.size() + block.size() <= maxUnsyncedBytes;
    if (m_unsyncedWhole)
        m_unsynced += block;
    else
        m_unsynced = std::string();
}

Result<void> LineFile::sync() {
    if (auto flushed = flush(); !flushed)
        return flushed;
    if (auto synced = m_file->sync(); !synced) {
        takeBackUnsynced();
        return synced;
    }
    m_synced = m_written;
    m_unsynced.clear();
    m_unsyncedWhole = true;
    return {};
}

void LineFile::takeBackUnsynced() {
    m_uncertain = m_uncertain || !m_unsyncedWhole;
    if (!m_unsyncedWhole || m_unsynced.empty())
        return;
    std::deque<std::string> again;
    for (std::size_t from = 0; from < m_unsynced.size();) {
        const std::size_t end = m_unsynced.find('\n', from) + 1;
        again.push_back(m_unsynced.substr(from, end - from));
        from = end;
    }
    m_waitingBytes += m_unsynced.size();
    m_waiting.insert(m_waiting.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
    m_written = m_synced;
    m_unsynced.clear();
}

} // namespace lockstep
