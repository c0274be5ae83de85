// SPDX-License-Identifier: MIT
#include "trainer/agent/log/disk_watch.h"

#include <sys/statvfs.h>

namespace lockstep::agent {

namespace {
constexpr int checksPerSpaceCheck = 10;
constexpr double spaceLowShare = 0.05;
} // namespace

void DiskWatch::check() {
    if (m_checks++ % checksPerSpaceCheck == 0 || m_logBehind)
        checkSpace();
    if (m_journal.behind() != m_logBehind) {
        m_logBehind = m_journal.behind();
        alertAndLog(m_journal, m_logBehind ? "error" : "warning", m_logBehind ? "log_behind" : "log_caught_up",
                    m_logBehind ? "the log " + m_folder.log(0) +
                                      " can't be written; training goes on and its lines wait in memory"
                                : "the log " + m_folder.log(0) + " is complete again");
    }
    if (m_journal.linesLost() != m_linesLost) {
        m_linesLost = m_journal.linesLost();
        alertAndLog(m_journal, "error", "log_lost",
                    std::to_string(m_linesLost) + " lines of the log are lost: memory for them was full");
    }
}

void DiskWatch::checkSpace() {
    struct statvfs info {};
    if (::statvfs(m_folder.path.c_str(), &info) != 0 || info.f_blocks == 0)
        return;
    const double share = static_cast<double>(info.f_bavail) / static_cast<double>(info.f_blocks);
    const bool low = share < spaceLowShare;
    if (low && !m_spaceLow)
        alertAndLog(m_journal, "warning", "disk_low",
                    "the disk under " + m_folder.path + " has " + std::to_string(static_cast<int>(share * 100)) +
                        " % left");
    m_spaceLow = low;
}

} // namespace lockstep::agent
