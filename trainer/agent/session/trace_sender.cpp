// SPDX-License-Identifier: MIT
#include "trainer/agent/session/trace_sender.h"

#include "ipc/file_system.h"

namespace lockstep::agent {

namespace {
Result<std::string> readTrace(const std::string &path) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(path, absent);
    if (size > largestTrace)
        return fail(Error::failed(path + " has " + std::to_string(size >> 20) + " MiB, more than is sent (64)"));
    return realFileSystem().readAll(path);
}
} // namespace

void TraceSender::sendNew() {
    if (m_local.newFolder().shared())
        return; // agent 0 reads it in the shared folder
    for (const RankPlan &rank : m_local.plan().ranks) {
        std::error_code absent;
        const std::string path = m_local.folder().traces() + "/rank-" + std::to_string(rank.rank) + ".json";
        const auto written = std::filesystem::last_write_time(path, absent);
        if (absent || (m_sent.contains(rank.rank) && m_sent[rank.rank] == written))
            continue;
        m_sent[rank.rank] = written;
        if (auto text = readTrace(path); !text)
            m_local.journal().note("warning", "the trace can't be sent to agent 0: " + text.error().message());
        else
            m_link.sendTrace(rank.rank, std::move(*text));
    }
}

} // namespace lockstep::agent
