// SPDX-License-Identifier: MIT
#include "trainer/agent/session/trace_collection.h"

#include <atomic>
#include <utility>

#include "ipc/file_system.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::seconds longestLastMerge{30};
constexpr std::chrono::milliseconds mergeCheckInterval{5};

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

WaitingTraces::Put WaitingTraces::put(const TraceInbox::Whole &trace) {
    const std::lock_guard lock(m_mutex);
    const auto known = m_traces.find(trace.rank);
    const std::size_t before = known == m_traces.end() ? 0 : known->second.text.size();
    if (m_bytes - before + trace.text.size() > m_mostBytes)
        return Put::Full;
    m_bytes += trace.text.size() - before;
    m_traces.insert_or_assign(trace.rank, trace);
    return known == m_traces.end() ? Put::First : Put::Replaced;
}

TraceInbox::Whole WaitingTraces::take(int rank) {
    const std::lock_guard lock(m_mutex);
    auto taken = m_traces.extract(rank);
    m_bytes -= taken.mapped().text.size();
    return std::move(taken.mapped());
}

void TraceCollection::store(const std::string &host, const TraceInbox::Whole &trace) {
    const std::string which = "the trace of rank " + std::to_string(trace.rank) + " from " + host;
    const WaitingTraces::Put put = m_waiting->put(trace);
    if (put == WaitingTraces::Put::Full)
        m_journal.note("warning", which + " is lost: traces of " + std::to_string(m_waiting->mostBytes() >> 20) +
                                      " MiB wait for the disk already; ask again when it has taken them");
    if (put != WaitingTraces::Put::First)
        return; // the disk's thread finds the newest
    (void)m_journal.disk().ask(
        [&journal = m_journal, which, rank = trace.rank, waiting = m_waiting, folder = m_folder.traces()] {
            return [&journal, which, stored = keep(folder, waiting->take(rank))] {
                if (!stored)
                    journal.note("warning", which + " is lost: " + stored.error().message());
            };
        });
}

struct TraceCollection::Merging {
    TraceMerge merge;                           ///< of the disk's thread
    std::atomic<bool> writes = false;           ///< a merge has begun; of both threads
    std::atomic<bool> givenUp = false;          ///< likewise; the rest is the loop's
    bool going = false;                         ///< an answer is still to come
    std::optional<std::vector<RankTrace>> next; ///< asked for meanwhile
};

void TraceCollection::merge(const std::vector<RankTrace> &ranks) {
    if (!m_merging)
        m_merging = std::make_shared<Merging>();
    if (m_merging->givenUp)
        return;
    if (m_merging->going)
        m_merging->next = ranks;
    else if (m_journal.disk().busyFor() <= longestBusy)
        begin(m_journal, m_merging, m_folder.traces(), ranks);
}

void TraceCollection::begin(RunJournal &journal, const std::shared_ptr<Merging> &merging, const std::string &folder,
                            std::vector<RankTrace> ranks) {
    merging->going = true;
    const auto answer = [&journal, merging, folder](const TraceMerge::Outcome &merged) {
        report(journal, merged);
        merging->going = false;
        if (const auto next = std::exchange(merging->next, std::nullopt))
            begin(journal, merging, folder, *next);
    };
    journal.disk().askInPieces(
        [merging, folder, ranks = std::move(ranks), answer]() -> std::optional<std::function<void()>> {
            if (merging->givenUp) {
                merging->merge.giveUp();
                return [] {};
            }
            auto merged = merging->merge.step(folder, ranks);
            merging->writes = !merged;
            if (!merged)
                return std::nullopt;
            return [answer, merged = std::move(*merged)] { answer(merged); };
        });
}

void TraceCollection::finish(std::function<void()> done) {
    if (!m_merging)
        m_merging = std::make_shared<Merging>();
    if (!m_merging->going) {
        m_merging->givenUp = true;
        return done();
    }
    m_patientUntil = std::chrono::steady_clock::now() + longestLastMerge;
    m_timer = m_loop.every(mergeCheckInterval, [this, done = std::move(done)] { checkFinished(done); });
}

void TraceCollection::giveUp() {
    m_patientUntil = std::chrono::steady_clock::now();
}

void TraceCollection::checkFinished(const std::function<void()> &done) {
    m_journal.disk().deliver();
    const bool patient = m_journal.disk().silentFor().count() == 0 && std::chrono::steady_clock::now() < m_patientUntil;
    if (m_merging->going && patient)
        return;
    if (m_merging->going && m_merging->writes)
        m_journal.note("warning",
                       "the ranks' traces are not merged: it took too long after the run's end; they stay in " +
                           m_folder.traces());
    m_merging->givenUp = true;
    const auto next = done; // the timer that holds `done` goes
    m_loop.cancel(m_timer);
    next();
}

std::vector<RankTrace> tracesOfRanks(const LaunchPlan &plan) {
    std::vector<RankTrace> ranks;
    for (const RankPlan &rank : plan.ranks)
        ranks.push_back({rank.rank, std::nullopt, 0, {}});
    return ranks;
}

} // namespace lockstep::agent
