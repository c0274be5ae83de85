// SPDX-License-Identifier: MIT
#include "trainer/strategies/comm_statistics.h"

#include <algorithm>
#include <utility>

namespace lockstep::trainer {

void startInTurn(std::vector<BucketStamp> &buckets, std::size_t hands) {
    std::vector<std::int64_t> freeNs(hands, 0);
    for (BucketStamp &bucket : buckets) {
        const auto hand = std::min_element(freeNs.begin(), freeNs.end());
        bucket.startNs = std::max({bucket.readyNs, bucket.startNs, *hand});
        *hand = bucket.endNs = std::max(bucket.endNs, bucket.startNs);
    }
}

std::int64_t CommStatistics::Step::waitWithin(std::int64_t exposedNs, std::int64_t buffersNs,
                                              std::int64_t waitNs) const {
    return std::min(waitNs, std::min(exposedNs, commNs) + buffersNs);
}

CommStatistics::Step CommStatistics::add(const std::vector<BucketStamp> &buckets, std::int64_t backwardNs) {
    Step step;
    if (buckets.empty())
        return step;
    std::int64_t lastReady = 0, covered = 0;
    for (const BucketStamp &bucket : buckets)
        lastReady = std::max(lastReady, bucket.readyNs);
    for (const BucketStamp &bucket : buckets) { // they start in order: the union is a sweep
        const std::int64_t from = std::max(bucket.startNs, covered);
        if (bucket.endNs > from) {
            step.commNs += bucket.endNs - from;
            step.hiddenNs += std::max<std::int64_t>(0, std::min(bucket.endNs, lastReady) - from);
            covered = bucket.endNs;
        }
    }
    if (m_buckets.size() != buckets.size()) // the Reducer cuts anew after its first step: no means over both cuts
        m_buckets.assign(buckets.size(), {});
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        Sum &sum = m_buckets[i];
        sum.bytes = buckets[i].bytes;
        ++sum.count;
        sum.readyNs += buckets[i].readyNs - backwardNs;
        sum.startNs += buckets[i].startNs - backwardNs;
        sum.endNs += buckets[i].endNs - backwardNs;
    }
    m_hiddenNs += step.hiddenNs;
    ++m_steps;
    return step;
}

void CommStatistics::addExposed(std::int64_t exposedNs, std::optional<std::int64_t> waitNs) {
    m_exposedNs += exposedNs;
    m_waitNs += waitNs.value_or(0);
    m_waitKnown = m_waitKnown || waitNs.has_value();
}

std::optional<CommFrame> CommStatistics::take() {
    if (m_steps == 0)
        return {};
    constexpr double s = 1e-9;
    CommFrame frame;
    frame.lastStep = m_steps - 1;
    frame.hiddenS = static_cast<double>(m_hiddenNs) * s;
    frame.exposedS = static_cast<double>(m_exposedNs) * s;
    if (m_waitKnown)
        frame.waitS = static_cast<double>(m_waitNs) * s;
    for (std::size_t i = 0; i < m_buckets.size(); ++i) {
        const Sum &sum = m_buckets[i];
        if (sum.count == 0)
            continue;
        const double mean = s / static_cast<double>(sum.count);
        frame.buckets.push_back({static_cast<int>(i), sum.bytes, sum.count, static_cast<double>(sum.readyNs) * mean,
                                 static_cast<double>(sum.startNs) * mean, static_cast<double>(sum.endNs) * mean});
    }
    *this = CommStatistics();
    return frame;
}

} // namespace lockstep::trainer
