// SPDX-License-Identifier: MIT
#pragma once
// What a run's metrics come to, by epoch and over the whole run, from its ranks' frames.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/metrics.h"

namespace lockstep {

/// Adds up the frames of all ranks, in the order of each rank. An epoch counts by its own frame, until then by its windows.
/// Bounded: 32 metrics, 10,000 epochs; what goes beyond is left out.
class MetricTotals {
public:
    void take(int rank, const StepsFrame &frame) { take(rank, frame, scalarsOf(frame)); }
    /// `scalars`: scalarsOf() the frame, where they are at hand.
    void take(int rank, const StepsFrame &frame, Scalars scalars);
    void take(int rank, const EpochFrame &frame);

    [[nodiscard]] MetricValues ofEpoch(int epoch) const;
    [[nodiscard]] MetricValues ofRun() const;

private:
    struct Part {
        Scalars windows;              ///< the windows so far
        std::optional<Scalars> whole; ///< as the epoch's frame tells it
        std::int64_t lastStep = -1;   ///< of the windows
        [[nodiscard]] const Scalars &scalars() const { return whole ? *whole : windows; }
    };
    [[nodiscard]] Part *part(int epoch, int rank);
    using RankWindows = std::map<std::string, std::vector<ScalarWindow>, std::less<>>; ///< by name, one window a rank
    void keepKnown(Scalars &scalars);
    [[nodiscard]] MetricValues valuesOf(const RankWindows &windows) const;

    std::map<int, std::map<int, Part>> m_epochs; ///< by epoch, by rank
    std::map<std::string, MetricSpec, std::less<>> m_specs;
};

} // namespace lockstep
