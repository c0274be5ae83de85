// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QPointF>
#include <QString>

class QPainter;
class QRectF;

namespace lockstep::ui {

struct Palette;

/// One device of one run over time.
struct Lane {
    QString run; ///< "DDP on 2 devices"; written once for neighbouring lanes of the same run
    QString runId;
    QString device; ///< "cpu:0"
    QColor color;
    QList<QPointF> samples;    ///< x: seconds on the shared axis, y: in the metric's unit; sorted by x
    QString value = {};        ///< at the lane's end, its mean: "96 %", "-" when unknown
    QString idle = {};         ///< beside it, the share of the time in which the device did nothing
    QString others = {};       ///< beside that, the other programs' load during its run; empty: negligible
    QString unknown = {};      ///< in the lane while it has no sample: why
    QString hint = {};         ///< tooltip
    QString noRecentData = {}; ///< why there is no recent data: its past is greyed, and this text replaces the present
    bool operator==(const Lane &) const = default;
};

/// The part of time that lanes show, in seconds on their axis; from < to.
struct LaneTimes {
    double from = 0, to = 1;
    [[nodiscard]] double placeOf(double timeS, const QRectF &strip) const; ///< px
};

/// Paints one lane: a heat strip with the line of its mean, or a sentence where there is nothing to paint.
class LaneStrip {
public:
    /// `full`: the value of a full lane. The palette is the theme's and outlives the strip.
    LaneStrip(const Palette &palette, LaneTimes times, double full)
        : m_palette(palette), m_times(times), m_full(full) {}
    /// In `color`, which shades the lane if another run is highlighted.
    void paint(QPainter *painter, const Lane &lane, const QColor &color, const QRectF &strip) const;
    static constexpr double reachS = 0.6; ///< so far a sample stands for the time around it

private:
    const Palette &m_palette;
    LaneTimes m_times;
    double m_full;
};

/// Mean of y in each of `columns` equal parts of [from, to]; NaN where no sample is near (gaps stay gaps: a column
/// without a sample takes its neighbour's only within `reach` seconds).
[[nodiscard]] QList<double> columnMeans(const QList<QPointF> &samples, double from, double to, int columns,
                                        double reach);

} // namespace lockstep::ui
