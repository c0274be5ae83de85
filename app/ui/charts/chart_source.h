// SPDX-License-Identifier: MIT
#pragma once
#include <QSize>
#include <QString>

class QPainter;

namespace lockstep::ui {

/// Around an exported picture.
inline constexpr int exportMargin = 16;

/// What the context menu and the exports need from any chart, of Qt Charts or our own.
class ChartSource {
public:
    virtual ~ChartSource() = default;
    /// For file names and headings: "loss".
    [[nodiscard]] virtual QString chartName() const = 0;
    /// Tab-separated, heads with units.
    [[nodiscard]] virtual QString chartData() const = 0;
    /// Text for a screen reader: values in words, units in their names. By default made from chartData().
    [[nodiscard]] virtual QString chartWords() const;
    /// The size of an export without a requested size.
    [[nodiscard]] virtual QSize exportSize() const { return {960, 540}; }
    /// Paints the picture (background and margins included) into `size`.
    virtual void renderChart(QPainter *painter, const QSize &size) = 0;
    [[nodiscard]] virtual bool hasLogAxis() const { return false; }
    [[nodiscard]] virtual bool isLogAxis() const { return false; }
    virtual void setLogAxis(bool) {}
};

} // namespace lockstep::ui
