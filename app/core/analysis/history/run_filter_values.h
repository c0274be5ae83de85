// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include <QString>

#include "analysis/history/run_columns.h"

namespace lockstep::core {

/// A number in a filter's notation: 0.88, 88%, 2min, 500MiB, 21,345, 2026-01-02.
struct FilterQuantity {
    double exact = 0;
    double low = 0,
           high = 0; ///< what "=" accepts of a measured column: the digits given; of a time: the day named. A number's
                     ///< ends count, a time's end not
    bool time = false;
};
/// Nothing when the text is no such quantity. `nowUs`: Unix microseconds, for today and yesterday.
[[nodiscard]] std::optional<FilterQuantity> filterQuantity(ColumnKind kind, const QString &text, std::int64_t nowUs);
/// "a time like 30s, 2min or 1h"
[[nodiscard]] std::string quantityExamples(ColumnKind kind);

} // namespace lockstep::core
