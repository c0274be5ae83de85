// SPDX-License-Identifier: MIT
#pragma once
// The registry of metrics: what Lockstep's own programs measure besides the loss. Store, tables, filter, exports,
// TensorBoard and Live show every metric in this registry, and every one that a script invents.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ipc/frames.h"
#include "ipc/scalars.h"

namespace lockstep {

enum class Better { Neither, Lower, Higher };

/// How the values of several ranks for the same steps become one value.
enum class OverRanks {
    Mean,
    Sum,
    Max,
    First ///< the same on all ranks: taken from the first rank that reports it
};

/// How the values of many steps become one value. For a whole run, Mean and Last are those of the last epoch; Rate and
/// Max are taken over all steps.
enum class OverSteps {
    Mean,
    Rate, ///< what was counted ÷ seconds
    Last,
    Max
};

/// Totals of some steps, from which some metrics are derived.
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
    /// Computes the metric from totals if a rank did not measure it. Absent if the totals lack something.
    std::optional<ScalarWindow> (*derived)(const StepTotals &) = nullptr;

    [[nodiscard]] std::string head() const; ///< "Title (unit)"
};

/// The registered metrics, in the order of tables.
[[nodiscard]] std::span<const MetricSpec> metrics();
[[nodiscard]] bool isRegistered(std::string_view name);
/// The spec of a registered metric. For any other name: the name as its title, the mean over ranks and steps.
[[nodiscard]] MetricSpec metricSpec(std::string_view name);
/// Order of names: first those in the registry, in its order, then the rest by name.
[[nodiscard]] bool metricBefore(std::string_view a, std::string_view b);

/// The metrics in the frame, and those derived from it.
[[nodiscard]] Scalars scalarsOf(const StepsFrame &frame);
[[nodiscard]] Scalars scalarsOf(const EpochFrame &frame);

/// The value of one rank over some steps.
[[nodiscard]] double valueOf(const MetricSpec &spec, const ScalarWindow &window);
/// The value over several ranks for the same steps, with lowest and highest. `ranks` has at most one window per rank,
/// the lowest rank first, and is not empty.
[[nodiscard]] ScalarWindow overRanks(const MetricSpec &spec, std::span<const ScalarWindow> ranks);

} // namespace lockstep
