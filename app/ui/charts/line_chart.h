#pragma once
#include <QChartView>
#include <QHash>

#include <optional>

#include "app/ui/charts/chart_source.h"

class QCategoryAxis;
class QLineSeries;

namespace lockstep::ui {
class Theme;

/// One line of a LineChart.
struct LineData {
    QString key;  ///< identity over updates
    QString name; ///< at the line's end and in the data: "DDP ×2"
    QColor color;
    Qt::PenStyle style = Qt::SolidLine; ///< says repeat, or published (dotted)
    bool markers = false;               ///< a dot at each point (few points)
    bool faint = false;                 ///< the raw line behind a smoothed one: no label, not in the data
    bool labelled = true;               ///< named at its end; repeats share one name
    QString endText;                    ///< value at the line's end; empty: the last y
    QList<QPointF> points;              ///< sorted by x
    bool operator==(const LineData &) const = default;
};

/// Lines over one x axis in Qt Charts with our own look: no legend but names and values at the lines' ends, thin grid,
/// few round ticks, a crosshair that reads every line. Points are decimated to the pixel columns on every change.
class LineChart : public QChartView, public ChartSource {
    Q_OBJECT
public:
    LineChart(const Theme &theme, QString name, QWidget *parent = nullptr);

    void setAxisTitles(const QString &x, const QString &y);
    /// Whole-number ticks on x (epochs, steps).
    void setWholeX(bool whole) { m_wholeX = whole; }
    /// y starts at zero (durations) or hugs the data (loss).
    void setZeroBased(bool zero) { m_zeroBased = zero; }
    /// The range of x that is shown even before data reaches it; absent hugs the data.
    void setXRange(std::optional<double> low, std::optional<double> high);
    /// Shown in the middle while there is no point.
    void setEmptyText(const QString &text);
    /// Replaces all lines; does nothing when they are as they were.
    void setLines(const QList<LineData> &lines);
    [[nodiscard]] const QList<LineData> &lines() const { return m_lines; }
    /// Points handed to Qt Charts after decimation, over all lines.
    [[nodiscard]] qsizetype drawnPoints() const;

    [[nodiscard]] QString chartName() const override { return m_name; }
    [[nodiscard]] QString chartData() const override;
    void renderChart(QPainter *painter, const QSize &size) override;
    [[nodiscard]] bool hasLogAxis() const override { return true; }
    [[nodiscard]] bool isLogAxis() const override { return m_log; }
    void setLogAxis(bool log) override;

    [[nodiscard]] QSize sizeHint() const override { return {480, 260}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 140}; }

protected:
    void resizeEvent(QResizeEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;
    void drawForeground(QPainter *painter, const QRectF &rect) override;

private:
    void restyle();
    void rebuild();
    void layOut();
    void updateAxes();
    void updateSeries();
    [[nodiscard]] QPointF toPlot(const QPointF &value) const;
    [[nodiscard]] int endLabelWidth() const;
    void drawEndLabels(QPainter *painter) const;
    void drawCrosshair(QPainter *painter) const;

    const Theme &m_theme;
    QString m_name, m_empty, m_xTitle, m_yTitle;
    QCategoryAxis *m_x, *m_y;
    QHash<QString, QLineSeries *> m_series;
    QList<LineData> m_lines;
    std::optional<double> m_xLow, m_xHigh;
    double m_xFrom = 0, m_xTo = 1, m_yFrom = 0, m_yTo = 1; ///< what the axes show; y in log10 when m_log
    bool m_wholeX = false, m_zeroBased = false, m_log = false;
    std::optional<QPointF> m_pointer; ///< in view coordinates
};

} // namespace lockstep::ui
