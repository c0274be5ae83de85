// The part of a session that makes one trace of all ranks', whichever node they are on.
#include "ipc/file_system.h"
#include "ipc/placement.h"
#include "trainer/agent/session.h"

namespace lockstep::agent {

namespace fs = std::filesystem;

/// Every rank of the run and how its times come to this node's clock. Those behind a link that is lost are not waited for.
std::vector<RankTrace> Session::tracesOfAll() const {
    std::vector<RankTrace> ranks;
    for (const RankPlan &rank : m_plan.ranks)
        ranks.push_back({rank.rank, std::nullopt, 0, {}});
    if (!m_hub || !m_supervisor)
        return ranks;
    const std::vector<int> counts = m_hub->processes(), first = firstRanks(counts);
    for (int node = 1; node <= m_hub->count(); ++node) {
        const auto clock = m_hub->monoClock(node);
        const std::string missing = !clock                ? "the clock of " + m_hub->title(node) + " is unknown"
                                    : m_hub->isAway(node) ? "nothing came of it from " + m_hub->title(node)
                                                          : std::string();
        for (int i = 0; i < counts[static_cast<std::size_t>(node)]; ++i)
            ranks.push_back({first[static_cast<std::size_t>(node)] + i, clock ? clock->offsetS : 0.0,
                             clock ? clock->roundTripS / 2 : 0.0, missing});
    }
    return ranks;
}

void Session::mergeTraces() {
    if (m_link)
        return sendTraces(); // agent 0 puts all together
    const auto merged = m_traceMerge.look(folder().traces(), tracesOfAll());
    if (!merged)
        m_journal->append(
            LogFrame{"warning", "the ranks' traces can't be put together: " + merged.error().message(), "agent"});
    else if (*merged && !(*merged)->missing.empty())
        m_journal->append(LogFrame{"warning",
                                   "the trace " + (*merged)->path + " lacks " + (*merged)->missing +
                                       ": the link to their node was lost; ui.perfetto.dev opens it",
                                   "agent"});
    else if (*merged)
        m_journal->append(
            LogFrame{"info", "the trace of all ranks is " + (*merged)->path + "; ui.perfetto.dev opens it", "agent"});
}

/// What the ranks here have written since the last look, to agent 0.
void Session::sendTraces() {
    if (m_folder.shared())
        return; // it lies there already
    for (const RankPlan &rank : m_plan.ranks) {
        std::error_code absent;
        const std::string path = folder().traces() + "/rank-" + std::to_string(rank.rank) + ".json";
        const auto written = fs::last_write_time(path, absent);
        if (absent || (m_tracesSent.contains(rank.rank) && m_tracesSent[rank.rank] == written))
            continue;
        m_tracesSent[rank.rank] = written;
        const auto size = fs::file_size(path, absent);
        auto text = size > largestTrace
                        ? Result<std::string>(fail(Error::failed(path + " has " + std::to_string(size >> 20) +
                                                                 " MiB, more than is sent (64)")))
                        : realFileSystem().readAll(path);
        if (!text)
            m_journal->append(
                LogFrame{"warning", "the trace can't be sent to agent 0: " + text.error().message(), "agent"});
        else
            m_link->sendTrace(rank.rank, std::move(*text));
    }
}

void Session::takeTrace(int node, TraceInbox::Whole trace) {
    const std::string what = "the trace of rank " + std::to_string(trace.rank) + " from " + m_hub->title(node);
    FileSystem &disk = realFileSystem();
    auto kept = trace.good ? disk.makeFolders(folder().traces()) : Result<void>(fail(Error::failed("it came damaged")));
    if (kept)
        kept = disk.writeAtomically(folder().traces() + "/rank-" + std::to_string(trace.rank) + ".json", trace.text);
    if (!kept)
        m_journal->append(LogFrame{"warning", what + " is lost: " + kept.error().message(), "agent"});
}

} // namespace lockstep::agent
