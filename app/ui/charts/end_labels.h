// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QRectF>
#include <QString>

class QPainter;

namespace lockstep::ui {
struct Palette;

/// A line's name and value, written where the line ends.
struct EndLabel {
    double y = 0; ///< where the line ends, in the painter's coordinates
    QString name, value;
    QColor color;
    Qt::PenStyle style = Qt::SolidLine;
};

/// Moves labels of `height` apart so that none overlap and all stay in [top, bottom], keeping their order.
[[nodiscard]] QList<double> spreadLabels(const QList<double> &wanted, double height, double top, double bottom);

[[nodiscard]] double endLabelsWidth(const QList<EndLabel> &labels);
/// The number of labels that fit into a plot of that height.
[[nodiscard]] qsizetype endLabelsRoom(double plotHeight);
/// Right of `plot`, in so many pixels; a longer name takes two lines where all have room for that.
void paintEndLabels(QPainter *painter, const QList<EndLabel> &labels, const QRectF &plot, double width,
                    const Palette &palette);

} // namespace lockstep::ui
