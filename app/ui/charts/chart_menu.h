// SPDX-License-Identifier: MIT
#pragma once
#include <QEvent>
#include <QSize>
#include <QString>

class QWidget;

namespace lockstep::ui {
class ChartSource;

/// Sent to a chart's window, which exports the chart. If it is not accepted, the menu writes the file itself.
class ChartExportEvent : public QEvent {
public:
    ChartExportEvent(ChartSource &source, const QSize &pictureSize, QString file)
        : QEvent(kind()), chart(source), size(pictureSize), path(std::move(file)) {
        ignore();
    }
    [[nodiscard]] static Type kind();

    ChartSource &chart;
    const QSize size;
    const QString path;
};

/// Lets a screen reader read a chart (chart_access.h) and gives its widget its context menu (copy image, copy data, export, log axis) with shortcuts that work while
/// the chart has the focus. `chart` and `widget` are the same object and the menu lives with it.
void installChartMenu(QWidget *widget, ChartSource *chart);

} // namespace lockstep::ui
