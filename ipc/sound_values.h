// SPDX-License-Identifier: MIT
#pragma once
// Which numbers count as measurements: the one place that decides, for frames, logs and documents alike.
//
// A duration, a share or a count that is none is refused, with a sentence that names the key and the value. A loss or a
// metric may be NaN or infinite, since training does diverge: it is kept as an event, and left out of every sum, mean,
// range and export.
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep {

inline constexpr double longestDurationS = 1e9; ///< 31 years: millions of them still add up to a finite number
/// Bounds of clocks in a frame: differences and sums of two of them stay within 64 bits. A monotonic clock starts at 0 when the
/// machine does; a wall clock stays between the years 1970 and 9999.
inline constexpr std::int64_t latestMonoNs = std::int64_t(longestDurationS) * 1'000'000'000;
inline constexpr std::int64_t latestWallUs = 253'402'300'799'999'999;
inline constexpr int highestEpoch = 10'000'000;
inline constexpr std::int64_t mostCounted = 1'000'000'000'000; ///< samples or steps in a frame: a million add up

/// Seconds: finite, from 0 to longestDurationS.
[[nodiscard]] bool isDuration(double seconds);
/// A duration of at least a nanosecond, as any work takes: a quotient of two is finite.
[[nodiscard]] bool isTimeOfWork(double seconds);
/// Whether a run can have trained, or taken to begin to, for so long: no longer than it lasted from launch to exit, when that is known. Both in seconds; a
/// hundredth and a second are left for clocks that are read at different moments.
[[nodiscard]] bool canBeTrainingTime(double seconds, std::optional<double> runS);
/// From 0 to 1.
[[nodiscard]] bool isShare(double value);
/// Whether a value of a loss or a metric is one to compute with: finite, and within what a 32-bit float can hold. Larger
/// ones count as infinite, so that sums of them stay finite.
[[nodiscard]] bool isFiniteValue(double value);
/// The value if it is one to compute with, else unknown.
[[nodiscard]] std::optional<double> finiteOrUnknown(std::optional<double> value);

/// "NaN", "infinite", "minus infinite", or the number: "-3", "1e+300".
[[nodiscard]] std::string valueInWords(double value);
/// "step 5"; of a window of several steps "one of the steps 5 to 9".
[[nodiscard]] std::string stepInWords(std::int64_t first, std::int64_t last);
/// Why the training time is unknown where a rank reports an epoch again without having been restarted.
[[nodiscard]] std::string repeatedEpochInWords(int rank, int epoch);
/// What a duration should be, and what it is: "a duration in seconds, 0 or more, but is NaN".
[[nodiscard]] std::string expectedDuration(double found);

} // namespace lockstep
