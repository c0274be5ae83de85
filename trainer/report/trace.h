// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Records the next N steps as spans and writes them as Chrome trace events (JSON), which Perfetto opens: one process
/// per rank, one track per thread, stream or bucket. While it is off, a span costs reading a flag; while on, an entry
/// in a buffer that was allocated before: nothing is allocated inside a step. ask() and span() may be called from any
/// thread, the rest from the training thread.
class Trace {
public:
    static constexpr std::int64_t mostSteps = 10'000;
    /// Tracks: the training thread, which is also DP's device 0; other devices; the transfers that a sum of our own
    /// consists of; a GPU's stream; buckets; exchanges with a server; loading workers.
    static constexpr int training = 0, firstDevice = 0, transfers = 98, stream = 99, firstBucket = 100,
                         firstServer = 900'000, firstWorker = 1'000'000;

    Trace(int rank, std::string host) : m_rank(rank), m_host(std::move(host)) {}

    /// Requests a trace of this many steps, from the next one on. Ignored while a trace is recorded.
    void ask(std::int64_t steps) { m_asked = steps; }
    [[nodiscard]] bool on() const { return m_on.load(std::memory_order_relaxed); }
    /// Adds a span. `name` must outlive the trace. A full buffer drops further spans and counts them. `readyNs`: for a
    /// bucket, when its last gradient was ready.
    void span(int track, const char *name, std::int64_t startNs, std::int64_t endNs, std::int64_t bytes = -1,
              std::int64_t readyNs = -1);

    /// Call before a step's first work. `spansAStep`: about how many spans it will make.
    void beginStep(std::int64_t nowNs, std::size_t spansAStep);
    /// The step's span reaches from its first lap on the training track to its last one; if laps are not on that track
    /// (GPUs), from beginStep() to now. True: that was the last requested step. Late spans are accepted until take().
    [[nodiscard]] bool endStep(std::int64_t step, std::int64_t nowNs);
    /// Whether the end of the run cut off a trace that contains whole steps.
    [[nodiscard]] bool unfinished() const { return on() && m_steps > 0; }
    struct Span {
        const char *name;
        int track;
        std::int64_t startNs, endNs, number; ///< bytes, or the number of a step
        std::int64_t readyNs;                ///< -1: unknown
    };
    struct Recorded {
        std::vector<Span> spans;
        std::int64_t steps = 0;
        std::size_t lost = 0; ///< spans that did not fit
    };
    /// Ends the trace and returns what was recorded.
    [[nodiscard]] Recorded take();
    /// Writes `folder`/rank-R.json, by rename. May be called from any thread.
    [[nodiscard]] Result<void> write(const Recorded &recorded, const std::string &folder) const;

private:
    [[nodiscard]] std::string trackName(int track) const;
    [[nodiscard]] std::string toJson(const std::vector<Span> &spans) const;

    int m_rank;
    std::string m_host;
    std::atomic<std::int64_t> m_asked{0};
    std::atomic<bool> m_on{false};
    std::mutex m_mutex; ///< guards the two below: a worker's span may come while the trace is written
    std::vector<Span> m_spans;
    std::size_t m_lost = 0;
    std::int64_t m_firstNs = 0, m_lastNs = 0; ///< of the step's laps on the training track; 0: none yet
    std::int64_t m_left = 0, m_steps = 0, m_stepStartNs = 0;
};

} // namespace lockstep::trainer
