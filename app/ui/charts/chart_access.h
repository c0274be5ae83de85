// SPDX-License-Identifier: MIT
#pragma once

class QString;
class QWidget;

namespace lockstep::ui {
class ChartSource;

/// Lets a screen reader read a chart: its title, and ChartSource::chartWords() at the moment it asks. `chart` and `widget` are the same
/// object.
void makeReadable(QWidget *widget, const ChartSource *chart);

/// A tab-separated table in words, a row a sentence: "DDP on 2 devices: speed-up 1.42, low 1.26, high 1.58." Units stand in its head.
[[nodiscard]] QString tableWords(const QString &tabbed);

} // namespace lockstep::ui
