// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "ipc/run_folder.h"
#include "trainer/agent/log/run_journal.h"

namespace lockstep::agent {

/// Watches the free space under a run's folder and whether the run's log can be written. Each change is one alert in
/// the log.
class DiskWatch {
public:
    DiskWatch(RunJournal &journal, RunFolder folder) : m_journal(journal), m_folder(std::move(folder)) {}
    void check(); ///< call once a second

private:
    void checkSpace();

    RunJournal &m_journal;
    RunFolder m_folder;
    bool m_logBehind = false, m_spaceLow = false;
    std::uint64_t m_linesLost = 0; ///< reported so far
    int m_checks = 0;
};

} // namespace lockstep::agent
