// SPDX-License-Identifier: MIT
#pragma once
// The registry of metrics: what Lockstep's own programs measure besides the loss. Store, tables, filter, exports, TensorBoard
// and Live take every metric from here, and every name that a script invents.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ipc/frames.h"
#include "ipc/scalars.h"

namespace lockstep {

enum class Better { Neither, Lower, Higher };

/// How the ranks' values of the same steps become one.
enum class OverRanks {
    Mean,
    Sum,
    Max,
    First ///< the same on all ranks: the first rank's that tells it
};

/// How the values of many steps become one. Of a run, Mean and Last are the last epoch's; Rate and Max are of all steps.
enum class OverSteps {
    Mean,
    Rate, ///< what was counted ÷ seconds
    Last,
    Max
};

/// What some steps came to, for metrics that follow from it.
struct StepTotals {
    std::int64_t samples = 0, steps = 0;
    double durationS = 0; ///< 0: unknown
};

struct MetricSpec {
    std::string name;      ///< in frames, filters, exports: "grad_norm"
    std::string title;     ///< for people, without the unit
    std::string unit = {}; ///< empty: none
    std::string help;      ///< one sentence
    Better better = Better::Neither;
    OverRanks overRanks = OverRanks::Mean;
    OverSteps overSteps = OverSteps::Mean;
    bool onLive = true; ///< Live offers to draw it
    /// Known of any rank's steps without the rank's measuring it; nothing where the totals lack what it takes.
    std::optional<ScalarWindow> (*derived)(const StepTotals &) = nullptr;

    [[nodiscard]] std::string head() const; ///< "Title (unit)"
};

/// The registered ones, in the order in which tables have them.
[[nodiscard]] std::span<const MetricSpec> metrics();
[[nodiscard]] bool isRegistered(std::string_view name);
/// A registered one; otherwise a metric whose title is its name, the mean over ranks and steps.
[[nodiscard]] MetricSpec metricSpec(std::string_view name);
/// The names in the registry's order, then the rest in theirs.
[[nodiscard]] bool metricBefore(std::string_view a, std::string_view b);

/// What the frame tells, and what follows from it.
[[nodiscard]] Scalars scalarsOf(const StepsFrame &frame);
[[nodiscard]] Scalars scalarsOf(const EpochFrame &frame);

/// One value of some steps of one rank.
[[nodiscard]] double valueOf(const MetricSpec &spec, const ScalarWindow &window);
/// One value, with lowest and highest, of the same steps of several ranks, each at most once, lowest rank first. Not empty.
[[nodiscard]] ScalarWindow overRanks(const MetricSpec &spec, std::span<const ScalarWindow> ranks);

} // namespace lockstep
