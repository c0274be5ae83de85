// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <QList>
#include <QPointF>

namespace lockstep::core {

/// A stretch of a curve, decimated for drawing.
struct CurvePart {
    /// At most the first and last point and each column's lowest and highest, in x order. A value that
    /// is not finite becomes a point with that y, at which the line breaks.
    QList<QPointF> points;
    QList<QPointF> broken; ///< each column's first value that is not finite
    qsizetype shown = 0;   ///< finite points of `points` within the stretch
    qsizetype held = 0;    ///< points that the curve has within the stretch

private:
    friend class Curve;
    /// The columns that more points can't change, for Curve::advance(): what is already in `points` and `broken`.
    struct Finished {
        int columns = 0;
        std::size_t next = 0; ///< the first point that is in none of them
        qsizetype points = 0, broken = 0, shown = 0;
    };
    double m_from = 0, m_to = 0;
    int m_columns = 0;
    std::size_t m_first = 0; ///< within the stretch
    bool m_decimated = false;
    Finished m_finished;
};

/// A line's points in the order of x, append-only, with the lowest and highest of every 16, 256, … points precomputed: a
/// stretch of any length becomes a few points per pixel column in microseconds, and a growing one costs only its last column.
/// At most 23 bytes per point.
class Curve {
public:
    /// An x below the last one counts as the last one (a wall clock that was set back).
    void append(double x, double y);
    void append(const QList<QPointF> &points);

    [[nodiscard]] qsizetype size() const { return qsizetype(m_points.size()); }
    [[nodiscard]] bool isEmpty() const { return m_points.empty(); }
    [[nodiscard]] const QPointF &at(qsizetype index) const { return m_points[std::size_t(index)]; }
    [[nodiscard]] const QPointF &first() const { return m_points.front(); }
    [[nodiscard]] const QPointF &last() const { return m_points.back(); }
    /// Increases with every change.
    [[nodiscard]] std::uint64_t revision() const { return m_revision; }
    /// The point nearest to x, absent when there is none.
    [[nodiscard]] std::optional<QPointF> nearest(double x) const;

    struct Extremes {
        double low = 0, high = 0;
    };
    /// Lowest and highest finite y with x in [from, to].
    [[nodiscard]] std::optional<Extremes> extremes(double from, double to) const;
    /// [from, to] in `columns` equal parts. Includes the points beside the stretch, so that the line enters and leaves it.
    [[nodiscard]] CurvePart part(double from, double to, int columns) const;
    /// Updates a part of this curve with the points appended since; the result equals a new part.
    void advance(CurvePart &part) const;

    [[nodiscard]] std::size_t bytes() const; ///< memory held

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    /// Which of a bucket's points is lowest, highest, and the first that is not finite. The values are copied here: looking
    /// the points up would cost a cache miss each.
    struct Bucket {
        double lowY = 0, highY = 0;
        std::uint32_t low = none, high = none, broken = none;
    };
    [[nodiscard]] std::size_t indexOf(double x) const; ///< of the first point at or after x
    [[nodiscard]] std::size_t indexAfter(double x) const;
    [[nodiscard]] Bucket over(std::size_t first, std::size_t last) const;
    void take(Bucket &into, std::uint32_t index) const;
    void take(Bucket &into, const Bucket &more) const;
    void addColumn(std::size_t first, std::size_t last, CurvePart &out) const;
    void fillColumns(std::size_t last, CurvePart &out) const;

    std::vector<QPointF> m_points;
    std::vector<std::vector<Bucket>> m_levels; ///< level k: buckets of 16^(k+1) points
    std::uint64_t m_revision = 0;
};

} // namespace lockstep::core
