// SPDX-License-Identifier: MIT
#pragma once
#include <QList>
#include <QString>

namespace lockstep::ui {

struct Ticks {
    double low = 0, high = 1; ///< the axis' range: whole steps around the data when `snap`ped
    QList<double> at;
    QStringList labels; ///< one a tick, all with the same number of decimals
};

/// Few round ticks (1, 2, 2.5, 5 × 10^k) over [low, high], about `wanted` of them.
/// `snap` widens the range to whole steps; otherwise the range stays and ticks lie inside it.
[[nodiscard]] Ticks niceTicks(double low, double high, int wanted, bool snap);

/// Whole numbers only (epochs, steps).
[[nodiscard]] Ticks wholeTicks(double low, double high, int wanted);

/// Unix seconds: round times of day, local, with no more parts than it takes ("14:05", "14:05:30", "21 Nov 14:00").
[[nodiscard]] Ticks timeTicks(double low, double high, int wanted);

/// For a log axis: `low` and `high` are values (> 0); `at`, `low`, `high` come back as log10.
/// Decades, and 2 and 5 between them where there are few.
[[nodiscard]] Ticks logTicks(double low, double high, int wanted);

/// For sizes on a log axis: values are log2 of bytes, labels "4 KiB"; whole powers of two, as many as fit.
[[nodiscard]] Ticks byteTicks(double low, double high, int wanted);

} // namespace lockstep::ui
