// SPDX-License-Identifier: MIT
#pragma once
// Formats numbers for people, the same in window, terminal and Markdown, from 10,000 on in groups of three digits. Ignores the locale.
// Unknown is "-". What programs read (CSV, JSON, SVG) is not written by these.
#include <optional>

#include <QString>

namespace lockstep::core {

/// A number's text with its digits in groups from 10,000 on: "17,600.5" of "17600.5", "1731" as it is. So are an exponent's and a word.
[[nodiscard]] QString inGroups(const QString &number);
/// Without the marks between groups of three digits, in which the text begins: "17600.5" of "17,600.5". Another text is as it was.
[[nodiscard]] QString withoutGroups(const QString &number);
/// 3 significant digits: "0.0712", "161"; below 1e-6, and from 1e9 on unless it is a count, with an exponent: "5.00e-31".
[[nodiscard]] QString significant(std::optional<double> value, int digits = 3);
/// Of a measured figure, above a thousand too: "5430" of 5,432.1. A count that is exact wants significant().
[[nodiscard]] QString threeDigits(std::optional<double> value);
/// A standard deviation to the last place of the mean as it is written: "0.02" beside "1.36", "0" where that is all of it.
[[nodiscard]] QString besideMean(double deviation, const QString &mean);
[[nodiscard]] QString percent(std::optional<double> fraction, int decimals = 2); ///< "98.93 %"
[[nodiscard]] QString coresText(double cores);                                   ///< "0.12 cores", "1.2 cores"
[[nodiscard]] QString seconds(std::optional<double> seconds);                    ///< "12.3 s"
/// Of an amount beside others, with as many decimals as the largest of them has with three digits: "0.060 s" beside 0.871 s. One that
/// would read 0 keeps digits of its own.
[[nodiscard]] QString secondsBeside(double amount, double largest);
/// A part of a whole, with one decimal more than the whole's three digits: "+0.012 s" of 2.58 s; "0 s" if it is less.
[[nodiscard]] QString addedSeconds(double part, double whole);
[[nodiscard]] QString shortTime(std::optional<double> seconds);   ///< "12.3 µs", "4.56 ms", "1.20 s"
[[nodiscard]] QString bandwidth(std::optional<double> bytesPerS); ///< "1.23 GB/s": decimal, like nccl-tests
/// The same with how far it may be off: "−3.10 ± 0.21 s"; without where that is unknown or nothing.
[[nodiscard]] QString addedSeconds(double part, std::optional<double> reach, double whole);
[[nodiscard]] QString timeLeft(std::optional<double> seconds); ///< "12 s", "3 min 05 s", "1 h 02 min"; "-" unknown
/// Why the duration of `runs` is unknown: `withoutEstimate` of them have no earlier run to estimate from.
[[nodiscard]] QString timeUnknown(int withoutEstimate, int runs);
[[nodiscard]] QString speedUp(std::optional<double> factor); ///< "1.74×"
/// Three significant digits, and near 1 as many as show on which side of it the factor lies: "1.74", "0.9996"; "1.00" is 1.
[[nodiscard]] QString factorText(std::optional<double> factor);
/// "191 MiB"; in the unit in which `like` is written, where there is one: "0.186 GiB" beside "20.0 GiB".
[[nodiscard]] QString bytes(std::optional<double> bytes, std::optional<double> like = {});
[[nodiscard]] QString messageSize(double bytes); ///< the same, without needless decimals: "4 B", "80 KiB", "1.25 MiB"
[[nodiscard]] QString wallTime(std::int64_t wallUs);  ///< local "2026-01-02 03:04:05"
[[nodiscard]] QString clockTime(std::int64_t wallUs); ///< local "03:04:05.678"

} // namespace lockstep::core
