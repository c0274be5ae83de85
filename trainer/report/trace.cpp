// SPDX-License-Identifier: MIT
#include "trainer/report/trace.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "ipc/file_system.h"

namespace lockstep::trainer {

namespace {
constexpr const char *stepName = "step";
}

void Trace::span(int track, const char *name, std::int64_t startNs, std::int64_t endNs, std::int64_t bytes,
                 std::int64_t readyNs) {
    if (!on())
        return;
    const std::lock_guard lock(m_mutex);
    if (!on())
        return;
    if (track == training && name != stepName) {
        m_firstNs = m_firstNs ? std::min(m_firstNs, startNs) : startNs;
        m_lastNs = std::max(m_lastNs, endNs);
    }
    if (m_spans.size() < m_spans.capacity())
        m_spans.push_back({name, track, startNs, endNs, bytes, readyNs});
    else
        ++m_lost;
}

void Trace::beginStep(std::int64_t nowNs, std::size_t spansAStep) {
    m_stepStartNs = nowNs;
    if (on()) {
        const std::lock_guard lock(m_mutex);
        m_firstNs = m_lastNs = 0;
        return;
    }
    const std::int64_t asked = std::min(m_asked.exchange(0), mostSteps);
    if (asked <= 0)
        return;
    m_left = asked;
    m_steps = 0;
    const std::lock_guard lock(m_mutex);
    m_spans.reserve(static_cast<std::size_t>(asked) * (spansAStep + 1) + 64);
    m_lost = 0;
    m_firstNs = m_lastNs = 0;
    m_on = true;
}

bool Trace::endStep(std::int64_t step, std::int64_t nowNs) {
    if (!on())
        return false;
    const bool laps = m_firstNs > 0;
    span(training, stepName, laps ? m_firstNs : m_stepStartNs, laps ? m_lastNs : nowNs, step);
    ++m_steps;
    return --m_left <= 0;
}

std::string Trace::trackName(int track) const {
    if (track >= firstWorker)
        return "loader " + std::to_string(track - firstWorker);
    if (track >= firstServer)
        return "server " + std::to_string(track - firstServer);
    if (track >= firstBucket)
        return "all-reduce, bucket " + std::to_string(track - firstBucket);
    if (track == transfers)
        return "transfers of the ring";
    if (track == stream)
        return "stream of the GPU";
    return track == training ? "training" : "device " + std::to_string(track - firstDevice);
}

std::string Trace::toJson(const std::vector<Span> &spans) const {
    // One event per line: traces of several ranks are merged line by line.
    std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    char line[320];
    const auto put = [&](int length) { out.append(line, static_cast<std::size_t>(std::clamp(length, 0, 319))); };
    std::set<int> tracks;
    for (const Span &s : spans)
        tracks.insert(s.track);
    put(std::snprintf(line, sizeof line,
                      R"({"ph":"M","name":"process_name","pid":%d,"args":{"name":"rank %d on %.80s"}})", m_rank, m_rank,
                      m_host.c_str()));
    for (const int track : tracks) {
        out += ",\n";
        put(std::snprintf(line, sizeof line,
                          R"({"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"%s"}})", m_rank, track,
                          trackName(track).c_str()));
    }
    for (const Span &s : spans) {
        out += ",\n";
        put(std::snprintf(line, sizeof line, R"({"ph":"X","name":"%s","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f)", s.name,
                          m_rank, s.track, static_cast<double>(s.startNs) * 1e-3,
                          static_cast<double>(s.endNs - s.startNs) * 1e-3));
        if (s.number >= 0) {
            put(std::snprintf(line, sizeof line, R"(,"args":{"%s":%lld)",
                              std::strcmp(s.name, stepName) == 0 ? "step" : "bytes", static_cast<long long>(s.number)));
            if (s.readyNs >= 0)
                put(std::snprintf(line, sizeof line, R"(,"ready":%.3f)", static_cast<double>(s.readyNs) * 1e-3));
            out += '}';
        }
        out += '}';
    }
    return out + "\n]}\n";
}

Trace::Recorded Trace::take() {
    const std::lock_guard lock(m_mutex);
    m_on = false;
    return {std::exchange(m_spans, {}), m_steps, m_lost};
}

Result<void> Trace::write(const Recorded &recorded, const std::string &folder) const {
    if (auto made = realFileSystem().makeFolders(folder); !made)
        return made;
    return realFileSystem().writeAtomically(folder + "/rank-" + std::to_string(m_rank) + ".json",
                                            toJson(recorded.spans));
}

} // namespace lockstep::trainer
