// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QString>

#include <cstdint>

class QPainter;

namespace lockstep::ui {
struct Palette;

/// Something that happened, marked on a chart's time axis.
struct ChartMark {
    enum class Kind { Checkpoint, Restart, Alert, EpochEnd };
    enum class Ink { Own, Text, Secondary, Wrong }; ///< by name: a picture for paper has paper's colours
    Kind kind = Kind::Alert;
    double x = 0; ///< on the chart's axis
    Ink ink = Ink::Own;
    QColor color;            ///< its own
    QString text;            ///< tooltip
    QString runId;           ///< whose
    std::int64_t wallUs = 0; ///< when
    bool operator==(const ChartMark &) const = default;
};

constexpr double markSize = 9; ///< a sign's height

/// The thin line of a mark, from `top` down to `bottom`.
void paintMarkLine(QPainter *painter, const ChartMark &mark, double x, double top, double bottom,
                   const Palette &palette);
/// The sign on the line's foot: a flag for a checkpoint, a dot for a restart, a triangle for an alert, none for an epoch's end.
void paintMarkSign(QPainter *painter, const ChartMark &mark, double x, double foot, const Palette &palette);

} // namespace lockstep::ui
