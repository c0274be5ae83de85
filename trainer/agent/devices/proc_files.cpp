// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "ipc/process_stat.h"
#include "ipc/unix_socket.h"

namespace lockstep::agent {

std::string readSmallFile(const std::string &path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    if (!fd.valid())
        return text;
    char buffer[16384];
    for (ssize_t n = ::read(fd.get(), buffer, sizeof buffer); n > 0; n = ::read(fd.get(), buffer, sizeof buffer))
        text.append(buffer, static_cast<std::size_t>(n));
    return text;
}

CoreTimesByCore parseProcStat(std::string_view text) {
    CoreTimesByCore times;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (!line.starts_with("cpu"))
            break; // the lines of the cores come first
        if (line.size() < 4 || line[3] == ' ')
            continue; // the sum over all cores
        std::istringstream fields{std::string(line.substr(3))};
        int core = 0;
        std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
        if (!(fields >> core >> user >> nice >> system >> idle))
            continue;
        fields >> iowait >> irq >> softirq >> steal;
        CoreTimes &core_times = times[core];
        core_times.busy = user + nice + system + irq + softirq; // user includes guest
        core_times.total = core_times.busy + idle + iowait + steal;
        core_times.stolen = steal;
    }
    return times;
}

void leaveOut(CoreTimesByCore &times, const CoreTimesByCore &before, const CoreTimesByCore &after) {
    for (auto &[core, ticks] : times) {
        const auto a = before.find(core), b = after.find(core);
        if (a == before.end() || b == after.end())
            continue;
        ticks.busy += b->second.busy - a->second.busy;
        ticks.total += b->second.total - a->second.total;
        ticks.stolen += b->second.stolen - a->second.stolen;
    }
}

std::optional<double> busyShare(const CoreTimesByCore &before, const CoreTimesByCore &after, const CoreList &cores) {
    std::uint64_t busy = 0, total = 0;
    for (const int core : cores) {
        const auto a = before.find(core), b = after.find(core);
        if (a == before.end() || b == after.end())
            return std::nullopt;
        // Some kernels decrease these counters by a tick: the difference must not become negative.
        busy += b->second.busy > a->second.busy ? b->second.busy - a->second.busy : 0;
        total += b->second.total > a->second.total ? b->second.total - a->second.total : 0;
    }
    if (total == 0)
        return std::nullopt;
    return std::min(1.0, static_cast<double>(busy) / static_cast<double>(total));
}

std::optional<double> processCpuSeconds(pid_t pid) {
    clockid_t clock;
    timespec time{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
        return std::nullopt;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

namespace {

/// The folders of its threads in /proc; none when it has ended.
std::vector<std::string> threadFoldersOf(pid_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    std::vector<std::string> out;
    DIR *threads = ::opendir(folder.c_str());
    if (!threads)
        return out;
    while (const dirent *entry = ::readdir(threads))
        if (entry->d_name[0] != '.')
            out.push_back(folder + "/" + entry->d_name);
    ::closedir(threads);
    return out;
}

} // namespace

std::map<pid_t, double> threadsWaitedSeconds(pid_t pid) {
    std::map<pid_t, double> waited;
    for (const std::string &folder : threadFoldersOf(pid)) {
        // schedstat: time on a core and time waiting for one, both in ns, and how often it ran
        const std::string text = readSmallFile(folder + "/schedstat");
        unsigned long long ran = 0, waitedNs = 0;
        if (std::sscanf(text.c_str(), "%llu %llu", &ran, &waitedNs) == 2)
            waited.emplace(static_cast<pid_t>(std::atoi(folder.c_str() + folder.rfind('/') + 1)),
                           static_cast<double>(waitedNs) * 1e-9);
    }
    return waited;
}

bool anyComputes(const std::vector<pid_t> &processes) {
    for (const pid_t pid : processes)
        for (const std::string &folder : threadFoldersOf(pid))
            if (const auto stat = processStatOf(folder); stat && stat->state == 'R')
                return true;
    return false;
}

std::optional<double> processRssBytes(pid_t pid) {
    const std::string text = readSmallFile("/proc/" + std::to_string(pid) + "/statm");
    unsigned long long size = 0, resident = 0;
    if (std::sscanf(text.c_str(), "%llu %llu", &size, &resident) != 2 ||
        resident == 0) // the process has ended and is not reaped yet
        return std::nullopt;
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::vector<pid_t> childrenOf(pid_t pid) {
    const std::string number = std::to_string(pid);
    std::istringstream text(readSmallFile("/proc/" + number + "/task/" + number + "/children"));
    std::vector<pid_t> children;
    for (pid_t child = 0; text >> child;)
        children.push_back(child);
    return children;
}

std::vector<pid_t> treeOf(pid_t pid) {
    std::vector<pid_t> tree{pid};
    for (std::size_t i = 0; i < tree.size(); ++i)
        for (const pid_t child : childrenOf(tree[i]))
            tree.push_back(child);
    return tree;
}

std::optional<double> parseQuotaWaited(std::string_view cpuStat) {
    std::istringstream lines{std::string(cpuStat)};
    std::string key;
    for (double value = 0; lines >> key >> value;) {
        if (key == "throttled_usec")
            return value * 1e-6;
        if (key == "throttled_time")
            return value * 1e-9;
    }
    return std::nullopt;
}

std::optional<double> quotaWaitedSeconds() {
    // Lines are "0::/path" (cgroup version 2) or "N:cpu,cpuacct:/path" (version 1).
    std::istringstream lines(readSmallFile("/proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        std::string root = "/sys/fs/cgroup";
        if (controllers != ",,") {
            if (controllers.find(",cpu,") == std::string::npos)
                continue;
            root += "/cpu";
        }
        for (const std::string &folder :
             {root + line.substr(second + 1), root}) // in a container the mount point is the group itself
            if (const auto waited = parseQuotaWaited(readSmallFile(folder + "/cpu.stat")))
                return waited;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> heatThrottles(const CoreList &cores) {
    std::optional<std::uint64_t> sum;
    for (const int core : cores) {
        const std::string text = readSmallFile("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                                               "/thermal_throttle/core_throttle_count");
        std::uint64_t count = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), count).ec == std::errc{})
            sum = sum.value_or(0) + count;
    }
    return sum;
}

} // namespace lockstep::agent
