// SPDX-License-Identifier: MIT
#include "trainer/agent/log/node_log.h"

namespace lockstep::agent {

namespace {
/// A larger gap between two lines, or more of them, mean that the peer is broken.
constexpr std::uint64_t largestGap = 10'000'000, mostGaps = 10'000;
} // namespace

Result<std::unique_ptr<NodeLog>> NodeLog::open(FileSystem &fs, LogDisk &disk, LogFileReader &reader,
                                               const std::string &path, int node, bool shared) {
    std::unique_ptr<NodeLog> log(new NodeLog(disk, reader, path, node));
    if (shared)
        return log;
    auto file = fs.openAppend(path);
    if (!file)
        return fail(file.error());
    if ((*file)->size() > 0)
        return fail(Error::failed(path + " is there already", "it belongs to another run"));
    log->m_log = disk.add(LineFile(std::move(*file), 0));
    return log;
}

NodeLog::Verdict NodeLog::verdictOf(const std::optional<SealedPlace> &place) const {
    if (!place || place->node != m_node || place->seq > nextSeq() + largestGap ||
        (place->seq > nextSeq() && m_gaps >= mostGaps))
        return Verdict::Damaged;
    return place->seq < nextSeq() ? Verdict::Doubled : Verdict::Taken;
}

/// Lines that were lost where they were written: the gap stays visible.
void NodeLog::passOverGap(std::uint64_t seq) {
    m_gaps += seq > nextSeq() ? 1 : 0;
    m_window.skipTo(seq);
}

NodeLog::Verdict NodeLog::take(std::string_view line) {
    const auto place = placeOfSealedLine(line);
    if (const Verdict verdict = verdictOf(place); verdict != Verdict::Taken)
        return verdict;
    const bool written = !m_log || m_disk.append(*m_log, std::string(line) + "\n");
    passOverGap(place->seq);
    m_window.remember(std::string(line), m_bytes, m_log && state().heldBytes > manyHeldBytes);
    m_bytes += written ? line.size() + 1 : 0;
    return Verdict::Taken;
}

NodeLog::Verdict NodeLog::leaveOut(std::string_view line) {
    const auto place = placeOfSealedLine(line);
    const Verdict verdict = verdictOf(place);
    if (verdict != Verdict::Taken)
        return verdict;
    passOverGap(place->seq);
    m_window.skipTo(place->seq + 1);
    m_bytes += m_log ? 0 : line.size() + 1; // in a shared folder its writer has put it into the file
    return verdict;
}

void NodeLog::requestSync() {
    if (m_log)
        m_disk.requestSync(*m_log, nextSeq());
}

std::uint64_t NodeLog::durableSeq() const {
    return m_log ? state().durable : nextSeq();
}

} // namespace lockstep::agent
