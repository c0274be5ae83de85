// SPDX-License-Identifier: MIT
#pragma once
#include <QCoreApplication>

#include <optional>
#include <utility>
#include <vector>

#include "app/ui/charts/line_data.h"

namespace lockstep::ui {

/// The lines of a LineChart, and what is painted of each: the lowest and highest point of every pixel column. It is
/// kept until the line, the range of x or the number of columns changes.
class DrawnLines {
    Q_DECLARE_TR_FUNCTIONS(DrawnLines)
public:
    /// Replaces all lines; false: nothing changed.
    bool set(const QList<LineData> &lines);
    [[nodiscard]] const QList<LineData> &lines() const { return m_lines; }
    /// Updates the decimated points: [from, to] in that many columns.
    void decimate(double from, double to, int columns);

    /// All points of a line, by its place among the lines.
    [[nodiscard]] const core::Curve &curve(qsizetype line) const { return *m_drawn[std::size_t(line)].curve; }
    [[nodiscard]] const core::CurvePart &part(qsizetype line) const { return m_drawn[std::size_t(line)].part; }
    [[nodiscard]] bool isEmpty() const { return m_isEmpty; } ///< no line has a finite point
    /// First and last x of all lines.
    [[nodiscard]] std::optional<std::pair<double, double>> xSpan() const;
    /// Lowest and highest finite y with x in [from, to].
    [[nodiscard]] std::optional<core::Curve::Extremes> extremes(double from, double to) const;

    [[nodiscard]] qsizetype points() const; ///< painted, over all lines
    [[nodiscard]] QList<QPointF> pointsOf(const QString &key) const;
    /// "showing 812 of 400,000 points", or "6 not finite" where all are shown: over the lines that are not faint, within what is
    /// zoomed to. Empty: all are shown, and finite.
    [[nodiscard]] QString shownText() const;
    /// The measured values, tab-separated, with a head.
    [[nodiscard]] QString table(const QString &xTitle, const QString &yTitle) const;
    /// Each line's end and range: "DDP on 2 devices: loss 0.069 at epoch 3, between 0.065 and 2.31."
    [[nodiscard]] QString words(const QString &xTitle, const QString &yTitle) const;

private:
    struct Drawn {
        std::shared_ptr<const core::Curve> curve;
        std::uint64_t revision = 0; ///< of the curve when `part` was taken
        double from = 0, to = 0;    ///< for which it was taken
        int columns = 0;
        core::CurvePart part;
    };

    QList<LineData> m_lines;
    std::vector<Drawn> m_drawn; ///< one a line
    bool m_isEmpty = true;
};

} // namespace lockstep::ui
