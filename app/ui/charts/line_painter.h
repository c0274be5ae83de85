// SPDX-License-Identifier: MIT
#pragma once
#include <QCoreApplication>
#include <QRectF>
#include <QSize>

#include "app/ui/charts/line_content.h"

class QPainter;

namespace lockstep::ui {
struct Palette;

/// How the lines' names stand right of the plot.
struct EndNames {
    int width = 0;       ///< px
    bool listed = false; ///< as a list, since a row each at the lines' ends finds no room
};

/// Paints a LineChart's content over the axes, which are already painted.
class LinePainter {
    Q_DECLARE_TR_FUNCTIONS(LinePainter)
public:
    /// `plot`: between the axes; `view`: all of the chart; `names`: of endNames(). What it gets must outlive it.
    LinePainter(const LineContent &content, const QRectF &plot, const QRectF &view, const EndNames &names,
                const Palette &palette)
        : m_content(content), m_plot(plot), m_view(view), m_names(names), m_palette(palette) {}

    /// Marks, curves, their names at their ends, and how many of the points are shown.
    void paint(QPainter *painter) const;
    /// A line at `x`, and beside the plot, instead of the names, the lines' values there.
    void paintCrosshair(QPainter *painter, double x) const;

private:
    void paintEmpty(QPainter *painter) const;
    void paintMarks(QPainter *painter) const;
    void paintCurve(QPainter *painter, qsizetype place) const;
    void paintBroken(QPainter *painter) const;
    void paintNames(QPainter *painter) const;
    [[nodiscard]] bool isPaled(const LineData &line) const;
    [[nodiscard]] QColor colorOf(const LineData &line) const;
    [[nodiscard]] QRectF column() const; ///< right of the plot
    void paintShownText(QPainter *painter) const;
    [[nodiscard]] QPointF placeOf(const QPointF &value) const { return m_content.scale.placeOf(value, m_plot); }

    const LineContent &m_content;
    const QRectF m_plot, m_view;
    const EndNames m_names;
    const Palette &m_palette;
};

constexpr int shownTextRow = 14; ///< px
/// Whether the text that says how many points are shown fits beside the title of x; else it has a row of its own above the plot.
[[nodiscard]] bool isShownTextBeside(const LineContent &content, const QRectF &plot, double viewWidth);

/// The names at the lines' ends in a chart of that size; `before`: the last width. It grows at once and shrinks only when much is
/// free. A single name that would be cut short is left out: it tells no lines apart.
[[nodiscard]] EndNames endNames(const DrawnLines &lines, const QSize &chart, int before);

} // namespace lockstep::ui
