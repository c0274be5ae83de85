#include "trainer/agent/trace_merge.h"

#include <filesystem>
#include <sstream>

#include "ipc/file_system.h"

namespace lockstep::agent {

namespace {

constexpr std::string_view head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", tail = "]}";

/// The events of a rank's trace: the lines between its first and its last.
Result<std::string> eventsOf(const std::string &path) {
    const auto text = realFileSystem().readAll(path);
    if (!text)
        return fail(text.error());
    const auto first = text->find('\n'), last = text->rfind("\n]}");
    if (!text->starts_with(head) || first == std::string::npos || last == std::string::npos || last <= first)
        return fail(Error::failed(path + " is no trace of a rank"));
    return text->substr(first + 1, last - first - 1);
}

} // namespace

Result<std::optional<std::string>> mergeTraces(const std::string &folder, const std::set<int> &ranks) {
    namespace fs = std::filesystem;
    std::error_code absent;
    const std::string merged = folder + "/trace.json";
    const auto before = fs::last_write_time(merged, absent);
    const bool none = bool(absent);
    std::string events;
    for (const int rank : ranks) {
        const std::string path = folder + "/rank-" + std::to_string(rank) + ".json";
        const auto written = fs::last_write_time(path, absent);
        if (absent || (!none && written <= before))
            return std::nullopt;
    }
    for (const int rank : ranks) {
        auto own = eventsOf(folder + "/rank-" + std::to_string(rank) + ".json");
        if (!own)
            return fail(own.error());
        events += (events.empty() ? "" : ",\n") + *own;
    }
    const std::string text = std::string(head) + "\n" + events + "\n" + std::string(tail) + "\n";
    if (auto written = realFileSystem().writeAtomically(merged, text); !written)
        return fail(written.error());
    return merged;
}

} // namespace lockstep::agent
