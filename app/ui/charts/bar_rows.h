// SPDX-License-Identifier: MIT
#pragma once
#include <QPointF>
#include <QRectF>
#include <QString>

class QColor;
class QPainter;

namespace lockstep::ui {
struct Palette;
struct Ticks;

/// The common layout of charts with bars in rows: each row has its name on the left and its value on the right, over
/// one horizontal axis whose labels and title are below the last row.
struct BarRows {
    static constexpr double axisHeight = 34, gap = 8, leastRow = 18;
    static constexpr double longName = 110; ///< px: a wider name of a run with one row gets room for two lines

    double nameWidth = 0, valueWidth = 0; ///< widths of the texts, set before place()
    double low = 0, high = 1;             ///< ends of the axis, in its unit
    double footHeight = axisHeight;       ///< what is kept free below the rows, set before place()
    double rowHeight = 0;
    QRectF plot; ///< of all rows

    /// Divides the area. Rows are at least `lowestRow` high, so a chart needs at least leastHeight().
    void place(const QRectF &area, qsizetype count, double highestRow, double lowestRow = leastRow);
    [[nodiscard]] double x(double value) const { return plot.left() + (value - low) / (high - low) * plot.width(); }
    [[nodiscard]] double y(qsizetype row) const { return plot.top() + double(row) * rowHeight; }
    /// -1 where there is none.
    [[nodiscard]] int rowAt(const QPointF &position, qsizetype count) const;
    /// Height in pixels of `count` rows of `each` pixels, with the axis.
    [[nodiscard]] static int heightOf(qsizetype count, double each);
    [[nodiscard]] static int leastHeight(qsizetype count) { return heightOf(count, leastRow); }
};

/// Ticks with their labels and the title, centred, in the BarRows::axisHeight pixels under `plot`, whose sides are `low` and
/// `high`.
void paintAxisBelow(QPainter *painter, const Palette &palette, const QRectF &plot, double low, double high,
                    const Ticks &ticks, const QString &title);
/// Slanting lines within the box.
void hatch(QPainter *painter, const QRectF &box, const QColor &ink);

} // namespace lockstep::ui
