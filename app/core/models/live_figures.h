// SPDX-License-Identifier: MIT
#pragma once
// Figures of one run on Live besides its curves, as plain values.
#include <optional>
#include <string>
#include <vector>

#include <QString>

namespace lockstep::core {
class RunStore;
struct MergedEpoch;

/// The epochs that every rank has done, without one in whose middle the run ended.
[[nodiscard]] std::vector<const MergedEpoch *> wholeEpochs(const RunStore &run);
/// Mean loss of the newest epoch that has one, NaN or infinite after a divergence; absent: none has.
[[nodiscard]] std::optional<double> lastEpochLoss(const RunStore &run);
/// What stands at the end of its curve of the loss: lastEpochLoss() of a run that is over, as the tables have it. Empty: the curve's own
/// last value, which is one of some 100 ms.
[[nodiscard]] QString lossAtEnd(const RunStore &run);
/// Median duration of wholeEpochs(), in s; absent when there is none.
[[nodiscard]] std::optional<double> medianEpochS(const RunStore &run);

/// Cores' worth of processor time that other programs took on the run's machine (agent 0's, for several nodes) while it went on;
/// absent while it goes on, and where it wasn't measured.
[[nodiscard]] std::optional<double> othersCores(const RunStore &run);
/// The same as a figure and as a sentence that says where they may have run; empty below a tenth of a core.
[[nodiscard]] QString othersText(const RunStore &run);
[[nodiscard]] QString othersSentence(const RunStore &run);

struct StepPhase {
    std::string phase;  ///< wire name
    double seconds = 0; ///< mean per step
    bool operator==(const StepPhase &) const = default;
};
/// The phases of one rank's mean step; phases that were not measured are absent.
struct RankStep {
    int rank = 0;
    std::vector<StepPhase> additive; ///< they add up to the step
    std::vector<StepPhase> nested;   ///< they lie inside those
};
/// One row per rank that has reported phases, over the whole run so far.
[[nodiscard]] std::vector<RankStep> rankSteps(const RunStore &run);

} // namespace lockstep::core
