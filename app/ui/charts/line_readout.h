// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QRectF>
#include <QString>

class QFontMetricsF;
class QPainter;

namespace lockstep::ui {
class DrawnLines;
struct Palette;

/// The values of lines with one name at a position: their mean and range.
struct ReadRow {
    QString name, group;
    QColor color;
    Qt::PenStyle style = Qt::SolidLine;
    double sum = 0, low = 0, high = 0;
    int count = 0;
    [[nodiscard]] QString meanText() const;
    [[nodiscard]] QString rangeText() const; ///< empty: one line, or all alike
};

struct Reading {
    QList<ReadRow> rows; ///< in the lines' order; faint lines are not read
    double x = 0;        ///< of the point nearest to the place; NaN without rows
};

/// At `x`, of the lines that reach there.
[[nodiscard]] Reading readAt(const DrawnLines &lines, double x);
/// Of each line its last point.
[[nodiscard]] Reading readEnds(const DrawnLines &lines);
/// A row for all lines of a group ("DDP, 12 runs").
[[nodiscard]] QList<ReadRow> byGroup(const QList<ReadRow> &rows);

/// The name as it is written into so many pixels: of several runs without their number where that doesn't fit.
[[nodiscard]] QString readName(const ReadRow &row, const QFontMetricsF &metrics, double width);

/// Height in pixels of rows with a head; rows with a range take two lines.
[[nodiscard]] double readoutHeight(const QList<ReadRow> &rows);
[[nodiscard]] double readoutWidth(const QList<ReadRow> &rows);
/// Writes it into the column beside the plot: by name, or by group if there are too many names.
void paintReadout(QPainter *painter, const QString &head, const QList<ReadRow> &rows, const QRectF &column,
                  const Palette &palette);

} // namespace lockstep::ui
