// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QString>

class QPainter;

namespace lockstep::ui {
struct BarRows;

/// The name of a row in a chart where a run has a row for each of its ranks or devices.
struct RowName {
    QString run, part; ///< "DDP on 2 devices", "rank 1"; a row may have no part
    QColor runInk, partInk;
    bool further = false; ///< a further row of the run above
};

/// Pixels for the names in a chart of that width: as many as they take, but in a narrow chart no more than leaves room for the plot
/// and no fewer than they take in two lines.
[[nodiscard]] double nameColumn(const QList<RowName> &names, double chartWidth);
/// Left of the rows' plot. A run's name is written once; if it needs two lines, across the height of all its rows.
void paintRowNames(QPainter *painter, double left, const BarRows &rows, const QList<RowName> &names);

} // namespace lockstep::ui
