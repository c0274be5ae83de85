// SPDX-License-Identifier: MIT
#include "trainer/agent/log/trace_merge.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ipc/file_system.h"
#include "ipc/json_writer.h"

namespace lockstep::agent {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", tail = "]}";

std::string fileOf(const std::string &folder, int rank) {
    return folder + "/rank-" + std::to_string(rank) + ".json";
}

/// The events in a rank's trace: all lines but the first and the last.
Result<std::string> eventsOf(const std::string &path) {
    auto text = readTrace(path);
    if (!text)
        return text;
    const auto first = text->find('\n'), last = text->rfind("\n]}");
    if (!text->starts_with(head) || first == std::string::npos || last == std::string::npos || last <= first)
        return fail(Error::failed(path + " is no trace of a rank"));
    text->resize(last);
    text->erase(0, first + 1);
    return text;
}

/// Subtracts `lessUs` from every time in the events, i.e. the microseconds after `"ts":` and `"ready":` as the trainer
/// writes them.
std::string shifted(const std::string &events, double lessUs) {
    std::string out;
    out.reserve(events.size());
    constexpr std::string_view tsKey = "\"ts\":", readyKey = "\"ready\":";
    std::size_t from = 0, ts = events.find(tsKey), ready = events.find(readyKey);
    for (;;) {
        const std::size_t key = std::min(ts, ready);
        if (key == std::string::npos)
            return out + events.substr(from);
        const std::size_t number = events.find(':', key) + 1;
        char *end = nullptr;
        const double us = std::strtod(events.c_str() + number, &end);
        char text[48];
        std::snprintf(text, sizeof text, "%.3f", us - lessUs);
        out.append(events, from, number - from).append(text);
        from = static_cast<std::size_t>(end - events.c_str());
        // Only the one that was used: the other may be far away, or nowhere.
        (key == ts ? ts : ready) = events.find(key == ts ? tsKey : readyKey, from);
    }
}

std::string note(int rank, const char *name, const char *key, const std::string &text) {
    JsonWriter json;
    json.beginObject().field("ph", "M").field("name", name).field("pid", rank);
    json.key("args").beginObject().field(key, text).endObject().endObject();
    return json.take();
}

std::string clockWords(const RankTrace &rank) {
    char text[160];
    std::snprintf(text, sizeof text, "times are on node 0's clock: %.6f s were subtracted, correct to %.6f s",
                  *rank.aheadS, rank.unsureS);
    return text;
}

} // namespace

Result<std::string> readTrace(const std::string &path) {
    std::error_code absent;
    const auto size = fs::file_size(path, absent);
    if (!absent && size > largestTrace)
        return fail(Error::failed(path + " has " + std::to_string(size >> 20) + " MiB, more than the " +
                                      std::to_string(largestTrace >> 20) + " that a rank's trace may have",
                                  "trace fewer steps"));
    return realFileSystem().readAll(path, largestTrace);
}

Result<std::optional<TraceMerge::Merged>> TraceMerge::poll(const std::string &folder,
                                                           const std::vector<RankTrace> &ranks) {
    std::error_code absent;
    const std::string merged = folder + "/trace.json";
    const bool none = !fs::exists(merged, absent);
    std::map<int, bool> leftOut;
    bool any = false, late = false;
    Times times;
    for (const RankTrace &rank : ranks) {
        const auto written = fs::last_write_time(fileOf(folder, rank.rank), absent);
        const auto known = m_merged.find(rank.rank);
        // Another time, not a later one: the clock may have been set back.
        const bool isNew = !absent && (none || known == m_merged.end() || known->second != written);
        if (!absent)
            times[rank.rank] = written;
        any = any || isNew;
        late = late || (isNew && m_leftOut.contains(rank.rank));
        if (!isNew)
            leftOut[rank.rank] = true;
    }
    if (late) // traces that were missing have come; the other ranks keep those of the last merge
        std::erase_if(leftOut, [&](const auto &one) { return !m_leftOut.contains(one.first); });
    for (const RankTrace &rank : ranks)
        if (!any || (leftOut.contains(rank.rank) && rank.missing.empty()))
            return std::nullopt;
    const bool told = times == m_refused;
    if (told && (!m_tryAgain || std::chrono::steady_clock::now() < *m_tryAgain))
        return std::nullopt;
    const auto refuse = [&](const Error &why) {
        m_refused = times;
        m_tryAgain.reset();
        return fail(why);
    };
    Merged out{merged, {}};
    std::string text = std::string(head) + "\n"; // in one piece from the start: it may be large
    const std::size_t begin = text.size();
    for (const RankTrace &rank : ranks) {
        if (text.size() > begin)
            text += ",\n";
        if (leftOut.contains(rank.rank)) {
            out.missing += (out.missing.empty() ? "rank " : ", rank ") + std::to_string(rank.rank);
            text += note(rank.rank, "process_name", "name",
                         "rank " + std::to_string(rank.rank) + " is missing: " + rank.missing);
            continue;
        }
        auto own = eventsOf(fileOf(folder, rank.rank));
        if (!own)
            return refuse(own.error());
        if (text.size() + own->size() > largestMergedTrace)
            return refuse(Error::failed("the traces of all ranks are larger than " +
                                            std::to_string(largestMergedTrace >> 20) + " MiB together, and stay in " +
                                            folder,
                                        "trace fewer steps"));
        if (rank.aheadS)
            text += note(rank.rank, "process_labels", "labels", clockWords(rank)) + ",\n" +
                    shifted(*own, *rank.aheadS * 1e6);
        else
            text += *own;
    }
    text.append("\n").append(tail).append("\n");
    if (auto written = realFileSystem().writeAtomically(merged, text); !written) {
        m_refused = times;
        m_tryAgain = std::chrono::steady_clock::now() + m_pause;
        if (told)
            return std::nullopt;
        return fail(written.error());
    }
    m_refused.clear();
    m_leftOut = std::move(leftOut);
    m_merged = std::move(times);
    return out;
}

} // namespace lockstep::agent
