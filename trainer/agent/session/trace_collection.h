// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/trace_merge.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/nodes/trace_transfer.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// Traces of other nodes' ranks that wait for the disk. A rank's newer trace takes the place of its older one.
class WaitingTraces {
public:
    /// `mostBytes` of all of them: by default as many as are merged.
    explicit WaitingTraces(std::size_t mostBytes = largestMergedTrace) : m_mostBytes(mostBytes) {}
    [[nodiscard]] std::size_t mostBytes() const { return m_mostBytes; }
    enum class Put { First, Replaced, Full };
    /// First: the rank had none, so somebody must take this one. Full: it was dropped.
    Put put(const TraceInbox::Whole &trace);
    [[nodiscard]] TraceInbox::Whole take(int rank); ///< the one that put() has announced

private:
    std::size_t m_mostBytes;
    std::mutex m_mutex;
    std::map<int, TraceInbox::Whole> m_traces; ///< by rank
    std::size_t m_bytes = 0;
};

/// The traces of all ranks in the run's folder. It stores those that come from other nodes, merges all into one
/// (trace_merge.h) and notes the outcome in the log. The disk's thread does the work, a piece at a time: what came of it is noted a
/// moment later.
class TraceCollection {
public:
    TraceCollection(EventLoop &loop, RunJournal &journal, RunFolder folder)
        : m_loop(loop), m_journal(journal), m_folder(std::move(folder)) {}
    ~TraceCollection() { m_loop.cancel(m_timer); }
    TraceCollection(const TraceCollection &) = delete;
    TraceCollection &operator=(const TraceCollection &) = delete;

    void store(const std::string &host, const TraceInbox::Whole &trace);
    void merge(const std::vector<RankTrace> &ranks); ///< if there is anything new
    /// Calls `done` once what merge() was asked for is done, or is given up since it takes half a minute or the disk does not answer.
    /// Nothing is merged afterwards.
    void finish(std::function<void()> done);
    void giveUp(); ///< finish() goes on for no longer than a moment

private:
    struct Merging;
    static void begin(RunJournal &journal, const std::shared_ptr<Merging> &merging, const std::string &folder,
                      std::vector<RankTrace> ranks);
    void checkFinished(const std::function<void()> &done);

    EventLoop &m_loop;
    RunJournal &m_journal;
    RunFolder m_folder;
    std::shared_ptr<WaitingTraces> m_waiting = std::make_shared<WaitingTraces>();
    std::shared_ptr<Merging> m_merging; ///< from the first merge() on
    EventLoop::Token m_timer = 0;
    std::chrono::steady_clock::time_point m_patientUntil{};
};

/// The ranks of this node. Their traces are waited for and already on its clock.
[[nodiscard]] std::vector<RankTrace> tracesOfRanks(const LaunchPlan &plan);

} // namespace lockstep::agent
