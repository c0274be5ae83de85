// SPDX-License-Identifier: MIT
#include "trainer/agent/session/trace_sender.h"

#include <vector>

#include "trainer/agent/log/trace_merge.h"

namespace lockstep::agent {

namespace {
struct FoundTrace {
    int rank;
    Result<std::string> text;
};

std::vector<FoundTrace> findNew(const RunFolder &folder, const std::vector<int> &ranks, TraceSender::Sent &sent) {
    std::vector<FoundTrace> found;
    for (const int rank : ranks) {
        std::error_code absent;
        const std::string path = folder.traces() + "/rank-" + std::to_string(rank) + ".json";
        const auto written = std::filesystem::last_write_time(path, absent);
        if (absent || (sent.contains(rank) && sent[rank] == written))
            continue;
        sent[rank] = written;
        found.push_back({rank, readTrace(path)});
    }
    return found;
}
} // namespace

void TraceSender::sendNew() {
    LogDisk &disk = m_local.journal().disk();
    if (m_local.newFolder().shared() || disk.busyFor() > longestBusy)
        return; // in a shared folder agent 0 reads it
    std::vector<int> ranks;
    for (const RankPlan &rank : m_local.plan().ranks)
        ranks.push_back(rank.rank);
    const std::future<void> asked = disk.ask([this, folder = m_local.folder(), ranks, sent = m_sent] {
        return [this, found = findNew(folder, ranks, *sent)] {
            for (const auto &[rank, text] : found)
                if (text)
                    m_link.sendTrace(rank, std::string(*text));
                else
                    m_local.journal().note("warning", "the trace can't be sent to agent 0: " + text.error().message());
        };
    });
    if (m_local.over() &&
        asked.wait_for(longestBusy) == std::future_status::ready) // it goes before the report of the end
        disk.deliver();
}

} // namespace lockstep::agent
