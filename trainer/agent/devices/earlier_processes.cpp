// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/earlier_processes.h"

#include <unistd.h>

#include "ipc/process_stat.h"
#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

void EarlierProcesses::note(pid_t own) {
    for (const pid_t child : childrenOf(::getpid()))
        if (child != own)
            m_any = add(child) || m_any;
    look();
}

/// Returns whether it is alive and was unknown.
bool EarlierProcesses::add(pid_t pid) {
    const auto stat = processStatOf(pid);
    return stat && m_startTicks.emplace(pid, stat->startTicks).second;
}

void EarlierProcesses::look() {
    if (!m_any)
        return;
    std::erase_if(m_startTicks, [](const auto &known) {
        const auto stat = processStatOf(known.first);
        return !stat || stat->startTicks != known.second;
    });
    for (const pid_t child : childrenOf(::getpid()))
        if (::getpgid(child) == ::getpgrp())
            add(child);
    std::vector<pid_t> known;
    for (const auto &[pid, start] : m_startTicks)
        known.push_back(pid);
    for (std::size_t i = 0; i < known.size(); ++i)
        for (const pid_t child : childrenOf(known[i]))
            if (add(child))
                known.push_back(child);
}

std::vector<pid_t> EarlierProcesses::laterChildren() {
    look();
    std::vector<pid_t> children = childrenOf(::getpid());
    std::erase_if(children, [this](pid_t child) { return m_startTicks.contains(child); });
    return children;
}

std::vector<pid_t> EarlierProcesses::laterTree() {
    std::vector<pid_t> tree{::getpid()};
    for (const pid_t child : laterChildren())
        for (const pid_t one : treeOf(child))
            tree.push_back(one);
    return tree;
}

std::vector<pid_t> EarlierProcesses::noted() const {
    std::vector<pid_t> out;
    for (const auto &[pid, start] : m_startTicks)
        out.push_back(pid);
    return out;
}

} // namespace lockstep::agent
