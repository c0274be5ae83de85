// SPDX-License-Identifier: MIT
#include "trainer/agent/log/node_log.h"

#include "ipc/log.h"

namespace lockstep::agent {

namespace {
/// A larger gap between two lines means that the peer is broken: do not spend memory on it.
constexpr std::uint64_t largestGap = 10'000'000;
} // namespace

Result<std::unique_ptr<NodeLog>> NodeLog::open(FileSystem &fs, DiskSync &sync, const std::string &path, int node,
                                               bool shared) {
    std::unique_ptr<NodeLog> log(new NodeLog(sync, path, node));
    if (shared)
        return log;
    auto file = fs.openAppend(path);
    if (!file)
        return fail(file.error());
    log->m_file = std::move(*file);
    if (log->m_file->size() > 0)
        return fail(Error::failed(path + " is there already", "it belongs to another run"));
    log->m_syncFile = sync.add(path);
    return log;
}

Result<NodeLog::Verdict> NodeLog::take(std::string_view line) {
    const auto place = placeOfSealedLine(line);
    if (!place || place->node != m_node || place->seq > nextSeq() + largestGap)
        return Verdict::Damaged;
    if (place->seq < nextSeq())
        return Verdict::Doubled;
    if (m_file)
        if (auto written = m_file->append(std::string(line) + "\n"); !written)
            return fail(written.error());
    while (nextSeq() < place->seq) // lines that were lost where they were written: the gap stays visible
        m_window.remember({}, m_bytes, false);
    m_window.remember(std::string(line), m_bytes, false);
    m_bytes += line.size() + 1;
    return Verdict::Taken;
}

void NodeLog::requestSync() {
    if (m_file)
        m_sync.request(m_syncFile, nextSeq());
}

std::uint64_t NodeLog::durableSeq() const {
    return m_file ? m_sync.durable(m_syncFile) : nextSeq();
}

} // namespace lockstep::agent
