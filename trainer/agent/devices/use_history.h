// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "ipc/frames.h"

namespace lockstep::agent {

/// The use of one device over a run, for the mean and maximum of each epoch. Memory is bounded: past `limit` samples
/// the older half is merged in pairs. Sums and maxima stay exact; only the borders of old epochs blur.
class UseHistory {
public:
    explicit UseHistory(std::size_t limit = 20'000) : m_limit(limit) {}

    /// A sample that holds for [fromNs, toNs). Absent values are unknown.
    void add(std::int64_t fromNs, std::int64_t toNs, std::optional<double> utilization,
             std::optional<double> memoryBytes);

    /// Means are weighted by overlap with [fromNs, toNs]. The maximum is taken over the samples that lie mostly inside,
    /// or over all that overlap when the window is shorter than a sample. Absent when nothing overlaps.
    [[nodiscard]] DeviceEpochUse over(const std::string &device, std::int64_t fromNs, std::int64_t toNs) const;

    [[nodiscard]] std::size_t size() const { return m_samples.size(); }

private:
    struct Mean { ///< a mean over time
        double sum = 0, seconds = 0, max = 0;
        void add(const Mean &other, double share = 1);
    };
    struct Sample {
        std::int64_t fromNs, toNs;
        Mean utilization, memory;
    };
    void merge();

    std::deque<Sample> m_samples;
    std::size_t m_limit;
};

} // namespace lockstep::agent
