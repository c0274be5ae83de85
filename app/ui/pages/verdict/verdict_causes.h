// SPDX-License-Identifier: MIT
#pragma once
// Converts an attribution to Verdict's waterfall and sentences.
#include <QColor>
#include <QList>
#include <QString>

#include "analysis/causes/attribution.h"
#include "app/ui/charts/waterfall.h"

namespace lockstep::ui {

/// The reference, each cause, the run; with the two methods' colours.
[[nodiscard]] QList<WaterfallBar> waterfallBars(const core::Attribution &found, const QColor &reference,
                                                const QColor &run);
/// "4 loading workers instead of 0: −5.00 s (−5.20 s to −4.80 s)", the range by the order of changes. `wholeS`: the larger time.
[[nodiscard]] QString factorLine(const core::FactorEffect &factor, double wholeS);
/// The runs that the effects rest on, a line each.
[[nodiscard]] QString factorHelp(const std::vector<core::FactorEffect> &factors);

} // namespace lockstep::ui
