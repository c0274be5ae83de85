// SPDX-License-Identifier: MIT
#pragma once

class QWidget;

namespace lockstep::ui {
class ChartSource;

/// Gives a chart's widget its context menu (copy image, copy data, export, log axis) with shortcuts that work while
/// the chart has the focus. `chart` and `widget` are the same object and the menu lives with it.
void installChartMenu(QWidget *widget, ChartSource *chart);

} // namespace lockstep::ui
