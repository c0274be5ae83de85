// SPDX-License-Identifier: MIT
#include "trainer/agent/session/trace_collection.h"

#include "ipc/file_system.h"

namespace lockstep::agent {

namespace {
Result<void> keep(const std::string &folder, const TraceInbox::Whole &trace) {
    if (!trace.good)
        return fail(Error::failed("it arrived damaged"));
    FileSystem &disk = realFileSystem();
    if (auto made = disk.makeFolders(folder); !made)
        return made;
    return disk.writeAtomically(folder + "/rank-" + std::to_string(trace.rank) + ".json", trace.text);
}

void report(RunJournal &journal, const Result<std::optional<TraceMerge::Merged>> &merged) {
    if (!merged)
        journal.note("warning", "the ranks' traces can't be merged: " + merged.error().message());
    else if (*merged && !(*merged)->missing.empty())
        journal.note("warning", "the trace " + (*merged)->path + " lacks " + (*merged)->missing +
                                    ": the link to their node was lost; ui.perfetto.dev opens it");
    else if (*merged)
        journal.note("info", "the trace of all ranks is " + (*merged)->path + "; ui.perfetto.dev opens it");
}
} // namespace

void TraceCollection::store(const std::string &host, const TraceInbox::Whole &trace) {
    (void)m_journal.disk().ask([&journal = m_journal, host, trace, folder = m_folder.traces()] {
        return [&journal, host, rank = trace.rank, stored = keep(folder, trace)] {
            if (!stored)
                journal.note("warning", "the trace of rank " + std::to_string(rank) + " from " + host +
                                            " is lost: " + stored.error().message());
        };
    });
}

void TraceCollection::merge(const std::vector<RankTrace> &ranks) {
    if (m_journal.disk().busyFor() > longestBusy)
        return; // one question a second must not pile up
    (void)m_journal.disk().ask([&journal = m_journal, merge = m_merge, folder = m_folder.traces(), ranks] {
        return [&journal, merged = merge->poll(folder, ranks)] { report(journal, merged); };
    });
}

std::vector<RankTrace> tracesOfRanks(const LaunchPlan &plan) {
    std::vector<RankTrace> ranks;
    for (const RankPlan &rank : plan.ranks)
        ranks.push_back({rank.rank, std::nullopt, 0, {}});
    return ranks;
}

} // namespace lockstep::agent
