// SPDX-License-Identifier: MIT
#include "trainer/agent/session/trace_collection.h"

#include "ipc/file_system.h"

namespace lockstep::agent {

void TraceCollection::store(const std::string &host, const TraceInbox::Whole &trace) {
    const std::string rank = std::to_string(trace.rank);
    FileSystem &disk = realFileSystem();
    auto stored =
        trace.good ? disk.makeFolders(m_folder.traces()) : Result<void>(fail(Error::failed("it arrived damaged")));
    if (stored)
        stored = disk.writeAtomically(m_folder.traces() + "/rank-" + rank + ".json", trace.text);
    if (!stored)
        m_journal.note("warning",
                       "the trace of rank " + rank + " from " + host + " is lost: " + stored.error().message());
}

void TraceCollection::merge(const std::vector<RankTrace> &ranks) {
    const auto merged = m_merge.poll(m_folder.traces(), ranks);
    if (!merged)
        m_journal.note("warning", "the ranks' traces can't be merged: " + merged.error().message());
    else if (*merged && !(*merged)->missing.empty())
        m_journal.note("warning", "the trace " + (*merged)->path + " lacks " + (*merged)->missing +
                                      ": the link to their node was lost; ui.perfetto.dev opens it");
    else if (*merged)
        m_journal.note("info", "the trace of all ranks is " + (*merged)->path + "; ui.perfetto.dev opens it");
}

std::vector<RankTrace> tracesOfRanks(const LaunchPlan &plan) {
    std::vector<RankTrace> ranks;
    for (const RankPlan &rank : plan.ranks)
        ranks.push_back({rank.rank, std::nullopt, 0, {}});
    return ranks;
}

} // namespace lockstep::agent
