// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>

#include "app/ui/charts/bar_rows.h"
#include "app/ui/charts/painted_chart.h"

namespace lockstep::ui {

/// A painted chart of bars in rows, one `Bar` per row: the base of PhaseBars and Waterfall.
template <class Bar> class RowsChart : public PaintedChart {
public:
    void setBars(const QList<Bar> &bars) {
        if (bars == m_bars)
            return;
        const QSize least = minimumSizeHint();
        m_bars = bars;
        if (least != minimumSizeHint())
            updateGeometry();
        update();
    }
    [[nodiscard]] const QList<Bar> &bars() const { return m_bars; }

    [[nodiscard]] QSize sizeHint() const override { return {480, BarRows::heightOf(rows(), m_rowHeight)}; }
    /// Every row readable, the whole axis visible.
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, BarRows::heightOf(rows(), leastRow())}; }

protected:
    /// `leastRows`: room is kept for as many, so that the chart doesn't jump as bars arrive. `rowHeight` in pixels.
    RowsChart(const Theme &theme, QString name, qsizetype leastRows, double rowHeight, QWidget *parent)
        : PaintedChart(theme, std::move(name), parent), m_leastRows(leastRows), m_rowHeight(rowHeight) {}
    [[nodiscard]] bool isEmpty() const override { return m_bars.isEmpty(); }
    /// Pixels, of every row.
    [[nodiscard]] virtual double leastRow() const { return BarRows::leastRow; }

private:
    [[nodiscard]] qsizetype rows() const { return std::max(m_leastRows, m_bars.size()); }

    qsizetype m_leastRows;
    double m_rowHeight;
    QList<Bar> m_bars;
};

} // namespace lockstep::ui
