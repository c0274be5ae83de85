// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

#include "trainer/agent/log/new_run_folder.h"
#include "trainer/agent/log/run_journal.h"

namespace lockstep::agent {

/// A log that is written on this node, and how far the disk has it.
struct WatchedLog {
    std::string path;
    LogDisk::LogState state;
};

/// Watches the disk under a run's folder: its free space, whether it answers, whether it takes the logs and can sync them,
/// and whether the folder is still there. Each change is one alert in the log. It never waits for the disk.
class DiskWatch {
public:
    using Logs = std::function<std::vector<WatchedLog>()>;
    DiskWatch(RunJournal &journal, const NewRunFolder &folder) : m_journal(journal), m_folder(folder) {}
    void watchToo(Logs logs) { m_otherLogs = std::move(logs); } ///< beside the journal's own
    void check();                                               ///< call once a second

    /// Whether somebody has removed the run's folder, as the disk's thread has seen since the last check.
    [[nodiscard]] bool folderGone() const { return m_seen->gone; }
    /// For result.json: what a reader of this run's logs must know, in sentences. Asks the disk nothing.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    struct Reported {
        bool behind = false, unsynced = false, replaced = false;
        std::uint64_t lost = 0;
    };
    struct Seen {
        std::map<std::string, ino_t> files; ///< by path, as first seen; the disk's thread alone
        std::mutex mutex;
        std::set<std::string> replaced; ///< logs that another file, or none, stands in place of; under the mutex
        std::atomic<bool> gone = false;
        std::atomic<bool> nearlyFull = false;
        std::atomic<std::uint64_t> freeMiB = 0;
    };
    [[nodiscard]] std::vector<WatchedLog> logs() const;
    [[nodiscard]] std::set<std::string> replaced() const;
    void look();
    void checkSilence();
    void checkSpace();
    void checkLog(const WatchedLog &log);

    RunJournal &m_journal;
    const NewRunFolder &m_folder;
    Logs m_otherLogs;
    std::shared_ptr<Seen> m_seen = std::make_shared<Seen>();
    std::future<void> m_looking;
    std::map<std::string, Reported> m_reported; ///< by path
    bool m_silent = false, m_spaceLow = false;
};

} // namespace lockstep::agent
