// SPDX-License-Identifier: MIT
#include "trainer/agent/log/disk_watch.h"

#include <sys/stat.h>

#include <chrono>

#include "ipc/disk_space.h"

namespace lockstep::agent {

namespace {
std::string wordsOfReplaced(const std::string &path) {
    return "the log " + path + " was removed or replaced during the run: its lines are lost, unless a viewer has them";
}

std::string lines(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " line" : " lines");
}
} // namespace

std::vector<WatchedLog> DiskWatch::logs() const {
    std::vector<WatchedLog> all = m_otherLogs ? m_otherLogs() : std::vector<WatchedLog>();
    all.insert(all.begin(), {m_journal.path(), m_journal.state()});
    return all;
}

std::set<std::string> DiskWatch::replaced() const {
    const std::lock_guard lock(m_seen->mutex);
    return m_seen->replaced;
}

void DiskWatch::check() {
    look();
    checkSilence();
    checkSpace();
    for (const WatchedLog &log : logs())
        checkLog(log);
}

/// What asks the disk runs on its thread; the answer is there at the next check.
void DiskWatch::look() {
    if (m_looking.valid() && m_looking.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        return;
    std::vector<std::string> paths;
    for (const WatchedLog &log : logs())
        paths.push_back(log.path);
    m_looking = m_journal.disk().run([seen = m_seen, held = m_folder.held(), paths = std::move(paths)] {
        seen->gone = held->gone();
        for (const std::string &path : paths) {
            struct stat status {};
            const bool there = ::stat(path.c_str(), &status) == 0;
            const auto known = there ? seen->files.try_emplace(path, status.st_ino).first : seen->files.find(path);
            if (known == seen->files.end() || (there && known->second == status.st_ino))
                continue;
            const std::lock_guard lock(seen->mutex);
            seen->replaced.insert(path);
        }
        if (const auto disk = diskSpace(held->path())) {
            seen->freeMiB = static_cast<std::uint64_t>(disk->freeBytes) >> 20;
            seen->nearlyFull = nearlyFull(*disk);
        }
    });
}

void DiskWatch::checkSilence() {
    const auto silent = m_journal.disk().silentFor();
    if ((silent.count() > 0) == m_silent)
        return;
    m_silent = !m_silent;
    const std::string disk = "the disk under " + m_folder.folder().path;
    if (m_silent)
        m_journal.alert("disk_silent",
                        disk + " has not answered for " +
                            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(silent).count()) +
                            " s; training goes on as long as it needs no file, and the log waits in memory");
    else
        m_journal.alert("disk_answers", disk + " answers again");
}

void DiskWatch::checkSpace() {
    const bool low = m_seen->nearlyFull;
    if (low && !m_spaceLow)
        alertAndLog(m_journal, "disk_low",
                    "the disk under " + m_folder.folder().path + " has " + std::to_string(m_seen->freeMiB) +
                        " MiB left");
    m_spaceLow = low;
}

void DiskWatch::checkLog(const WatchedLog &log) {
    Reported &reported = m_reported[log.path];
    if (const bool behind = !log.state.writeError.empty(); behind != reported.behind) {
        reported.behind = behind;
        alertAndLog(m_journal, behind ? AlertName("log_behind") : AlertName("log_caught_up"),
                    behind ? "the log " + log.path + " can't be written; training goes on and its lines wait in memory"
                           : "the log " + log.path + " is complete again");
    }
    if (const bool unsynced = !log.state.syncError.empty(); unsynced != reported.unsynced) {
        reported.unsynced = unsynced;
        alertAndLog(m_journal, unsynced ? AlertName("log_unsynced") : AlertName("log_synced"),
                    unsynced
                        ? log.state.syncError + ": the newest lines of the log are written again and kept in memory; "
                                                "they are lost if this machine goes down before a sync succeeds"
                        : "the log " + log.path + " is safe on the disk again");
    }
    if (!reported.replaced && !folderGone() && replaced().contains(log.path)) {
        reported.replaced = true;
        alertAndLog(m_journal, "log_lost", wordsOfReplaced(log.path));
    }
    if (log.state.linesLost != reported.lost) {
        reported.lost = log.state.linesLost;
        alertAndLog(m_journal, "log_lost",
                    lines(reported.lost) + " of the log " + log.path + " are lost: memory for them was full");
    }
}

std::vector<std::string> DiskWatch::warnings() const {
    std::vector<std::string> all;
    const std::set<std::string> gone = replaced();
    for (const WatchedLog &log : logs()) {
        if (gone.contains(log.path))
            all.push_back(wordsOfReplaced(log.path));
        if (log.state.linesLost > 0)
            all.push_back(lines(log.state.linesLost) + " of the log " + log.path +
                          " are lost: the disk did not take them");
        if (!log.state.writeError.empty())
            all.push_back(log.state.writeError + ": the log may lack its newest lines");
        else if (!log.state.syncError.empty())
            all.push_back(log.state.syncError + ": the newest lines of the log may not be on the disk");
    }
    return all;
}

} // namespace lockstep::agent
