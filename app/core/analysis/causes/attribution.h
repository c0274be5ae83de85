// SPDX-License-Identifier: MIT
#pragma once
// Why one group takes another time than its reference: a waterfall in seconds, from what ranks measured of themselves
// (phase_parts.h) and from control runs. Pure functions; nothing is modelled.
//
// Bars. A run's time from launch to exit is the sum of its parts, so the difference of two runs is the sum of the parts'
// differences, whatever the order in which they are taken. Means over repeats, scaled to the geometric mean by which
// speed-ups are computed (phase_parts.h); the first epoch (warm-up) is included, since it is part of the time that is
// explained. Each bar has the 95 % interval of its difference (statistics.h). Unattributed is the phase `other` and what a
// script reports in no phase.
//
// Factors. What the settings do by themselves depends on the order in which they are changed: with S the settings that the
// control shares with the run, v(S) its time, a factor's effect is the mean of v(S + f) - v(S) over the orders
// (Shapley, "A value for n-person games", 1953; Castro et al., Computers & OR 36, 2009, eq. 1, as a mean over orders).
// Only orders all of whose controls were measured count; each of them adds up to runS - referenceS, so their mean does.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "analysis/fairness/measured_groups.h"

namespace lockstep::core {

/// DataLoading: load, h2d. Compute: forward, backward, optimizer, less data parallel's moves between devices.
/// Communication: exposed less wait, and data parallel's scatter, replicate, gather, reduce. Imbalance: wait, and what is
/// waited at the ends of epochs, of the rank in the middle. StartUp: all outside of the epochs' training loops: launch,
/// import, rendezvous, first parameters and data, evaluation after each epoch, checkpoints, the end. Unattributed: the rest.
enum class Cause { DataLoading, Compute, Communication, Imbalance, StartUp, Unattributed };
inline constexpr std::array allCauses = {Cause::DataLoading, Cause::Compute, Cause::Communication,
                                         Cause::Imbalance,   Cause::StartUp, Cause::Unattributed};
[[nodiscard]] std::string_view toString(Cause cause); ///< "data loading", "device compute", "communication", …

/// One bar: what a cause adds to the reference's time, in seconds (negative: it saves), with its 95 % interval; none with
/// fewer than three repeats of either.
struct AttributionBar {
    Cause cause = Cause::Unattributed;
    double seconds = 0;
    std::optional<double> low, high;
    /// Half the interval's width, "±".
    [[nodiscard]] std::optional<double> reach() const {
        return low && high ? std::optional((*high - *low) / 2) : std::nullopt;
    }
    /// Whether it is within the chance of these repeats.
    [[nodiscard]] bool isDoubtful() const { return low && high && *low <= 0 && *high >= 0; }
    bool operator==(const AttributionBar &) const = default;
};

/// What one changed setting does by itself, from control runs: mean over orders, with extremes, in seconds.
struct FactorEffect {
    std::string key;   ///< workers, loader, method
    std::string label; ///< "4 loading workers instead of 0"
    double seconds = 0, low = 0, high = 0;
    std::vector<std::string> controls; ///< names of the groups that it rests on
    bool operator==(const FactorEffect &) const = default;
};

struct Attribution {
    std::string reference, run;
    /// Launch to exit, geometric means over repeats. Their trainings' alone where that is not known of both alike (trainingOnly).
    double referenceS = 0, runS = 0;
    bool trainingOnly = false; ///< one of the two was started elsewhere: its run time is that of its frames
    /// Every cause once, in the enum's order; they add up to runS - referenceS. No StartUp of trainings alone.
    std::vector<AttributionBar> bars;
    std::vector<FactorEffect> factors; ///< empty: one setting differs, or controls are missing
    std::vector<SuggestedRun> missing; ///< controls that would tell the factors apart, most informative first
    std::vector<std::string> notes;    ///< a sentence each: what a run does not report, and where it went
    [[nodiscard]] const char *axis() const {
        return trainingOnly ? "training time / s" : "run time / s, launch to exit";
    }
    [[nodiscard]] const AttributionBar *barOf(Cause cause) const; ///< null: it has none
    /// A bar's seconds; of what a training time is made of when start-up is left out: trainingChangeS().
    [[nodiscard]] double secondsOf(Cause cause) const;
    [[nodiscard]] double trainingChangeS() const;
    /// What referenceS and runS are of: "launch to exit", "training alone".
    [[nodiscard]] const char *span() const { return trainingOnly ? "training alone" : "launch to exit"; }
    [[nodiscard]] double longerS() const { return referenceS > runS ? referenceS : runS; }
    /// |unattributed| ÷ the larger of |runS - referenceS| and the larger time's hundredth.
    [[nodiscard]] double unattributedShare() const;
    bool operator==(const Attribution &) const = default;
};

/// Absent when either has no phases. `others`: groups that may serve as controls.
[[nodiscard]] std::optional<Attribution> attribute(const RepeatGroup &reference, const RepeatGroup &run,
                                                   const MeasuredGroups &others);

} // namespace lockstep::core
