// SPDX-License-Identifier: MIT
#include "trainer/report/memory_shortage.h"

#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>

namespace lockstep::trainer {

namespace {

std::string bytesInWords(double bytes) {
    char text[32];
    if (bytes >= 1e9)
        std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
    else
        std::snprintf(text, sizeof text, "%.3g MB", bytes / 1e6);
    return text;
}

/// The words between two others, from the first place of `before` on; empty where one of them is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
    const auto at = text.find(before);
    if (at == std::string_view::npos)
        return {};
    text.remove_prefix(at + before.size());
    const auto end = text.find(after);
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

} // namespace

std::string freeMemoryInWords() {
    std::string words;
    std::ifstream file("/proc/meminfo");
    std::string key, unit;
    double kibibytes = 0;
    while (file >> key >> kibibytes) {
        std::getline(file, unit);
        if (key == "MemAvailable:")
            words = bytesInWords(kibibytes * 1024) + " of the machine's memory are free";
    }
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        words += (words.empty() ? "" : ", ") + std::string("this process may have ") +
                 bytesInWords(static_cast<double>(limit.rlim_cur)) + " in all (ulimit -v)";
    return words;
}

std::string memoryShortage(std::string_view text, const std::string &freeOnCpu) {
    const std::string ofCpu = freeOnCpu.empty() ? std::string() : ", " + freeOnCpu;
    if (const auto asked = between(text, "can't allocate memory: you tried to allocate ", " bytes"); !asked.empty()) {
        double bytes = 0;
        std::from_chars(asked.data(), asked.data() + asked.size(), bytes);
        return bytesInWords(bytes) + " were asked for" + ofCpu;
    }
    if (text.find("CUDA error: out of memory") != std::string_view::npos)
        return "the GPU gave no more";
    if (text.find("CUDA out of memory") != std::string_view::npos) {
        const auto asked = between(text, "Tried to allocate ", ". "),
                   all = between(text, "has a total capacity of ", " of which "),
                   free = between(text, " of which ", " is free");
        std::string words(asked.empty() ? "more than there is" : asked);
        words += " were asked for";
        if (!free.empty())
            words += ", " + std::string(free) + (all.empty() ? "" : " of " + std::string(all)) + " are free";
        return words;
    }
    if (text.find("std::bad_alloc") != std::string_view::npos)
        return "the machine gave no more" + ofCpu;
    return {};
}

} // namespace lockstep::trainer
