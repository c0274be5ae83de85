// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/trace_merge.h"
#include "trainer/agent/nodes/trace_transfer.h"
#include "trainer/agent/ranks/launch_plan.h"

namespace lockstep::agent {

/// The traces of all ranks in the run's folder. It stores those that come from other nodes, merges all into one
/// (trace_merge.h) and notes the outcome in the log. The disk's thread does the work: what came of it is noted a moment later.
class TraceCollection {
public:
    TraceCollection(RunJournal &journal, RunFolder folder) : m_journal(journal), m_folder(std::move(folder)) {}

    void store(const std::string &host, const TraceInbox::Whole &trace);
    void merge(const std::vector<RankTrace> &ranks); ///< if there is anything new

private:
    RunJournal &m_journal;
    RunFolder m_folder;
    std::shared_ptr<TraceMerge> m_merge = std::make_shared<TraceMerge>(); ///< of the disk's thread
};

/// The ranks of this node. Their traces are waited for and already on its clock.
[[nodiscard]] std::vector<RankTrace> tracesOfRanks(const LaunchPlan &plan);

} // namespace lockstep::agent
