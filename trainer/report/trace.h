// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "ipc/error.h"

namespace lockstep::trainer {

/// Records the next N steps as spans and writes them as Chrome trace events (JSON), which Perfetto opens: one process a rank,
/// one track a thread, stream or bucket. While off, a span costs reading a flag; while on, an entry in a buffer that was allocated before:
/// nothing is allocated inside a step. ask() and span() from any thread, the rest from the training thread.
class Trace {
public:
    static constexpr std::int64_t mostSteps = 10'000;
    /// Tracks: the training thread's, which is DP's device 0, other devices', a GPU's stream, a bucket's, a loading worker's.
    static constexpr int training = 0, firstDevice = 0, stream = 99, firstBucket = 100, firstWorker = 1'000'000;

    Trace(int rank, std::string host) : m_rank(rank), m_host(std::move(host)) {}

    /// Steps to record, from the next one on; while a trace runs it is left alone.
    void ask(std::int64_t steps) { m_asked = steps; }
    [[nodiscard]] bool on() const { return m_on.load(std::memory_order_relaxed); }
    /// `name` must outlive the trace. A buffer that is full drops the rest and counts it.
    /// `readyNs`: of a bucket, when its last gradient was ready to leave.
    void span(int track, const char *name, std::int64_t startNs, std::int64_t endNs, std::int64_t bytes = -1,
              std::int64_t readyNs = -1);

    /// Before the step's first work. `spansAStep`: about how many it will make.
    void beginStep(std::int64_t nowNs, std::size_t spansAStep);
    /// The step's span reaches from its first lap on the training track to its last; where laps are not on it (GPUs), from
    /// beginStep() to now. True: that was the last step asked for. Spans that come late may still be put in until take().
    [[nodiscard]] bool endStep(std::int64_t step, std::int64_t nowNs);
    /// Whether the run's end cut a trace short that has whole steps.
    [[nodiscard]] bool unfinished() const { return on() && m_steps > 0; }
    struct Span {
        const char *name;
        int track;
        std::int64_t startNs, endNs, number; ///< bytes, or a step's number
        std::int64_t readyNs;                ///< -1: unknown
    };
    struct Recorded {
        std::vector<Span> spans;
        std::int64_t steps = 0;
        std::size_t lost = 0; ///< spans for which there was no room
    };
    /// Ends the trace and gives what it has.
    [[nodiscard]] Recorded take();
    /// Into `folder`/rank-R.json, by rename. From any thread.
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
