// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>
#include <QString>

class QPainter;

namespace lockstep::ui {

/// Around an exported picture.
inline constexpr int exportMargin = 16;

/// What the context menu and the exports need of any picture, be it Qt Charts or our own painting.
class ChartSource {
public:
    virtual ~ChartSource() = default;
    /// For file names and headings: "loss".
    [[nodiscard]] virtual QString chartName() const = 0;
    /// Tab-separated, heads with units.
    [[nodiscard]] virtual QString chartData() const = 0;
    /// What a screen reader reads: its values in words, units in their names. Unless a chart says it shorter, chartData().
    [[nodiscard]] virtual QString chartWords() const;
    /// The size it is exported in when none is asked for.
    [[nodiscard]] virtual QSize exportSize() const { return {960, 540}; }
    /// Paints the picture (background and margins included) into `size`.
    virtual void renderChart(QPainter *painter, const QSize &size) = 0;
    [[nodiscard]] virtual bool hasLogAxis() const { return false; }
    [[nodiscard]] virtual bool isLogAxis() const { return false; }
    virtual void setLogAxis(bool) {}
};

} // namespace lockstep::ui
