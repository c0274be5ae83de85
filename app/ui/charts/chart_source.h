#pragma once
#include <QString>

class QPainter;
class QSize;

namespace lockstep::ui {

/// What the context menu and the exports need of any picture, be it Qt Charts or our own painting.
class ChartSource {
public:
    virtual ~ChartSource() = default;
    /// For file names and headings: "loss".
    [[nodiscard]] virtual QString chartName() const = 0;
    /// Tab-separated, heads with units.
    [[nodiscard]] virtual QString chartData() const = 0;
    /// Paints the picture (background included) into `size`.
    virtual void renderChart(QPainter *painter, const QSize &size) = 0;
    [[nodiscard]] virtual bool hasLogAxis() const { return false; }
    [[nodiscard]] virtual bool isLogAxis() const { return false; }
    virtual void setLogAxis(bool) {}
};

} // namespace lockstep::ui
