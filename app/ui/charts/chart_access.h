// SPDX-License-Identifier: MIT
#pragma once

class QString;
class QWidget;

namespace lockstep::ui {
class ChartSource;

/// Lets a screen reader read a chart: its title, and the current ChartSource::chartWords(). `chart` and `widget` are the same
/// object.
void makeReadable(QWidget *widget, const ChartSource *chart);

/// A tab-separated table in words, one sentence per row: "DDP on 2 devices: speed-up 1.42, low 1.26, high 1.58." Its head has the units.
[[nodiscard]] QString tableWords(const QString &tabbed);

} // namespace lockstep::ui
