#pragma once
// Numbers as people read them, the same in window, terminal and Markdown. No locale. Unknown is "-".
#include <optional>

#include <QString>

namespace lockstep::core {

[[nodiscard]] QString significant(std::optional<double> value, int digits = 3);  ///< 3 significant digits, no exponent
[[nodiscard]] QString percent(std::optional<double> fraction, int decimals = 2); ///< "98.93 %"
[[nodiscard]] QString seconds(std::optional<double> seconds);                    ///< "12.3 s"
[[nodiscard]] QString timeLeft(std::optional<double> seconds); ///< "12 s", "3 min 05 s", "1 h 02 min"; "-" unknown
[[nodiscard]] QString speedUp(std::optional<double> factor);   ///< "×1.74"
[[nodiscard]] QString bytes(std::optional<double> bytes);      ///< "191 MiB"
[[nodiscard]] QString wallTime(std::int64_t wallUs);           ///< local "2026-01-02 03:04:05"
[[nodiscard]] QString clockTime(std::int64_t wallUs);          ///< local "03:04:05.678"

} // namespace lockstep::core
