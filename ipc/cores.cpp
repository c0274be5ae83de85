// SPDX-License-Identifier: MIT
#include "ipc/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "ipc/printable.h"

namespace lockstep {

namespace {

constexpr int maxCore = 65535;                              ///< no kernel has more; bounds the cost of "0-4000000000"
constexpr std::size_t mostNamed = std::size_t(maxCore) + 1; ///< by one list; a core that is named again counts again

using CoreRange = std::pair<int, int>; ///< first and last

Error badCores(std::string_view text) {
    return Error::badArgument(quotedWords(text) + " is not a list of cores", "write it like 0-3,8");
}

bool readCore(std::string_view &text, int &core) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), core);
    if (error != std::errc{} || core < 0 || core > maxCore || text.front() == '-')
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

/// As written, with cores that are named twice.
Result<std::vector<CoreRange>> readRanges(std::string_view text) {
    std::vector<CoreRange> ranges;
    std::size_t named = 0;
    std::string_view rest = text;
    while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' '))
        rest.remove_suffix(1);
    while (true) {
        int first = 0;
        if (rest.empty() || !readCore(rest, first))
            return fail(badCores(text));
        int last = first;
        if (!rest.empty() && rest.front() == '-') {
            rest.remove_prefix(1);
            if (rest.empty() || !readCore(rest, last) || last < first)
                return fail(badCores(text));
        }
        named += std::size_t(last - first) + 1;
        if (named > mostNamed)
            return fail(badCores(text));
        ranges.emplace_back(first, last);
        if (rest.empty())
            break;
        if (rest.front() != ',')
            return fail(badCores(text));
        rest.remove_prefix(1);
    }
    return ranges;
}

} // namespace

Result<CoreList> parseCores(std::string_view text) {
    const auto ranges = readRanges(text);
    if (!ranges)
        return fail(ranges.error());
    CoreList cores;
    for (const auto &[first, last] : *ranges)
        for (int core = first; core <= last; ++core)
            cores.push_back(core);
    std::sort(cores.begin(), cores.end());
    cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    return cores;
}

Result<int> coreCount(std::string_view text) {
    auto ranges = readRanges(text);
    if (!ranges)
        return fail(ranges.error());
    std::sort(ranges->begin(), ranges->end());
    int count = 0, next = 0; // the first core that was not counted yet
    for (const auto &[first, last] : *ranges) {
        count += std::max(0, last + 1 - std::max(first, next));
        next = std::max(next, last + 1);
    }
    return count;
}

std::string formatCores(const CoreList &cores) {
    std::string text;
    for (std::size_t i = 0; i < cores.size();) {
        std::size_t last = i;
        while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1)
            ++last;
        if (!text.empty())
            text += ',';
        text += std::to_string(cores[i]);
        if (last > i)
            text += "-" + std::to_string(cores[last]);
        i = last + 1;
    }
    return text;
}

CoreList allowedCores(int pid) {
    // The kernel's mask may be longer than cpu_set_t's 1,024 cores: try again with a larger one.
    for (int capacity = 1024; capacity <= maxCore + 1; capacity *= 4) {
        cpu_set_t *set = CPU_ALLOC(static_cast<std::size_t>(capacity));
        const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
        CPU_ZERO_S(bytes, set);
        const bool read = sched_getaffinity(pid, bytes, set) == 0;
        CoreList cores;
        for (int core = 0; read && core < capacity; ++core)
            if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes, set))
                cores.push_back(core);
        CPU_FREE(set);
        if (read)
            return cores;
    }
    return {};
}

int cpuDeviceCount(int coresPerDevice, const CoreList &allowed) {
    return coresPerDevice > 0 ? static_cast<int>(allowed.size()) / coresPerDevice : 0;
}

Result<void> pinThread(const CoreList &cores) {
    if (cores.empty())
        return {};
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores)
        CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        return fail(Error::failed("can't run on cores " + formatCores(cores) + ": " + std::strerror(errno),
                                  "use cores that this process may run on: " + formatCores(allowedCores())));
    return {};
}

Result<CoreList> coresOfCpuDevice(int k, int coresPerDevice, const CoreList &allowed) {
    if (coresPerDevice < 1 || k < 0)
        return fail(Error::badArgument("cpu:" + std::to_string(k) + " with " + std::to_string(coresPerDevice) +
                                           " cores a device is no device",
                                       "count devices from 0 and give each at least 1 core"));
    const int count = cpuDeviceCount(coresPerDevice, allowed);
    if (k >= count) {
        const auto needed = (std::int64_t{k} + 1) * coresPerDevice;
        return fail(Error::badArgument("cpu:" + std::to_string(k) + " needs core " + std::to_string(needed) + " of " +
                                           std::to_string(allowed.size()) + " allowed",
                                       count == 0 ? "use fewer cores a device"
                                                  : "use cpu:0 to cpu:" + std::to_string(count - 1)));
    }
    const auto first = allowed.begin() + std::ptrdiff_t{k} * coresPerDevice;
    return CoreList(first, first + coresPerDevice);
}

} // namespace lockstep
