// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "store/run_data.h"
#include "store/training_clock.h"

namespace lockstep::core {

/// The ranks of a run: how many there should be, what is known of each, how long each has trained.
class RunRanks {
public:
    void setRecorded(int count) { m_recorded = count; }
    void setWorldSize(int count) { m_reported = count; }
    void take(int rank, const Frame &frame, const StateFrame &body);
    void take(int rank, const ExitFrame &body) { rankInfo(rank).exit = body; }
    void take(int rank, const StepsFrame &body);
    void take(const ProcessSample &process); ///< ignored unless it is a rank's

    [[nodiscard]] const std::map<int, RankInfo> &all() const { return m_ranks; } ///< all that reported something
    [[nodiscard]] int expected() const { return m_recorded.value_or(m_reported.value_or(0)); } ///< 0 when unknown
    /// Steps that every rank has done, 0 until all have reported; absent before the first report.
    [[nodiscard]] std::optional<std::int64_t> doneSteps() const;
    /// Seconds of training of a rank up to `monoNs`, its monotonic clock.
    [[nodiscard]] double trainedS(int rank, std::int64_t monoNs) { return m_clocks[rank].at(monoNs); }

private:
    RankInfo &rankInfo(int rank);

    std::optional<int> m_recorded, m_reported; ///< by the record; by a rank
    std::map<int, RankInfo> m_ranks;
    std::map<int, TrainingClock> m_clocks; ///< by rank: the monotonic clocks of two nodes need not agree
};

} // namespace lockstep::core
