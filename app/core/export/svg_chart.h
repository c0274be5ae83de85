// SPDX-License-Identifier: MIT
#pragma once
// The verdict's charts as inline SVG for the HTML page, without a GUI library. Colours of text and lines are the page's CSS
// variables (--text, --quiet, --line), so that they follow light and dark; the hue stands for the method, as in the window.
#include <string>
#include <vector>

#include "analysis/causes/attribution.h"
#include "analysis/causes/dp_anatomy.h"
#include "analysis/compare/judgement.h"
#include "export/export.h"

namespace lockstep::core {

/// Speed-ups of the table's rows with their intervals, published ones dotted; a row of other work has none and says so. Empty
/// string: nothing to draw.
[[nodiscard]] std::string speedUpSvg(const ResultTable &table, const Judgement &judgement);
/// From the reference's time to the run's, cause by cause; each total in the colour of its method.
[[nodiscard]] std::string waterfallSvg(const Attribution &attribution, std::string_view referenceMethod,
                                       std::string_view method);
/// Loss over steps, the first repeat of each row that has a curve, at most `pointsALine` of the lowest and highest
/// points a line.
[[nodiscard]] std::string lossSvg(const ResultTable &table, const std::vector<ExportedCurve> &curves,
                                  int pointsALine = 600);
/// A step of DP by device, and of DDP by rank, on one time scale: the work of each, and a line where it waits.
[[nodiscard]] std::string anatomySvg(const std::vector<StepAnatomy> &anatomies);
/// Seconds of each epoch, one line per row of the table.
[[nodiscard]] std::string epochSvg(const ResultTable &table);

} // namespace lockstep::core
