// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "ipc/frames.h"

namespace lockstep::agent {

/// What one device did over the run, for the epochs' mean and maximum. Memory is bounded: past `limit` samples the older
/// half is merged pairwise, which keeps sums and maxima exact and only blurs where an old epoch began.
class UseHistory {
public:
    explicit UseHistory(std::size_t limit = 20'000) : m_limit(limit) {}

    /// A sample that speaks for [fromNs, toNs); absent values are unknown.
    void add(std::int64_t fromNs, std::int64_t toNs, std::optional<double> utilization,
             std::optional<double> memoryBytes);

    /// Means weighted by overlap with [fromNs, toNs], largest of the samples that lie mostly inside (of any that
    /// overlap when the window is shorter than a sample). Absent when nothing overlaps.
    [[nodiscard]] DeviceEpochUse over(const std::string &device, std::int64_t fromNs, std::int64_t toNs) const;

    [[nodiscard]] std::size_t size() const { return m_samples.size(); }

private:
    struct Mean { ///< over time
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
