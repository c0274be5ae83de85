// SPDX-License-Identifier: MIT
#include "ipc/process_stat.h"

#include <algorithm>
#include <charconv>

#include "ipc/file_system.h"

namespace lockstep {

std::optional<ProcessStat> processStatIn(std::string_view text) {
    const auto name = text.rfind(')'); // a process may have any name, ')' included
    if (name == std::string_view::npos)
        return std::nullopt;
    ProcessStat out;
    int number = 2; // of the field, from 1; the name is the second one
    for (std::size_t at = name + 1; at < text.size();) {
        const std::size_t begin = text.find_first_not_of(" \n", at);
        if (begin == std::string_view::npos)
            break;
        at = std::min(text.find_first_of(" \n", begin), text.size());
        const std::string_view field = text.substr(begin, at - begin);
        const auto read = [field](auto &value) { std::from_chars(field.data(), field.data() + field.size(), value); };
        std::uint64_t ticks = 0;
        switch (++number) {
        case 3:
            out.state = field.front();
            break;
        case 4:
            read(out.parent);
            break;
        case 14:
        case 15:
            read(ticks);
            out.cpuTicks += ticks;
            break;
        case 16:
        case 17:
            read(ticks);
            out.waitedTicks += ticks;
            break;
        case 22:
            read(out.startTicks);
            break;
        case 39:
            read(out.core);
            break;
        default:
            break;
        }
    }
    return number >= 39 ? std::optional(out) : std::nullopt;
}

std::optional<ProcessStat> processStatOf(const std::string &folder) {
    const auto text = realFileSystem().readAll(folder + "/stat");
    return text ? processStatIn(*text) : std::nullopt;
}

std::optional<ProcessStat> processStatOf(pid_t pid) {
    return processStatOf("/proc/" + std::to_string(pid));
}

std::string bootId() {
    const auto text = realFileSystem().readAll("/proc/sys/kernel/random/boot_id");
    return text ? text->substr(0, text->find('\n')) : std::string();
}

} // namespace lockstep
