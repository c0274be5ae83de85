// SPDX-License-Identifier: MIT
#pragma once
#include <QChartView>

#include <algorithm>
#include <optional>

#include "app/ui/charts/chart_source.h"
#include "app/ui/charts/run_highlight.h"

class QBarCategoryAxis;
class QCategoryAxis;
class QHorizontalStackedBarSeries;

namespace lockstep::ui {
class Theme;

/// One row of a BarChart.
struct BarData {
    QString name;
    QColor color;
    bool outlined = false;       ///< a published figure: dotted outline, no fill
    std::optional<double> value; ///< absent: no bar, `text` says why
    QString text;                ///< at the bar's end: "1.74×"
    QString hint;
    std::optional<double> low = {}, high = {}; ///< its 95 % interval, drawn as a whisker when both are known
    RunHighlight::Run whose = {};              ///< of no run: a published figure
    bool operator==(const BarData &) const = default;
};

/// Horizontal bars in Qt Charts, one per row, the first on top, with names on the left and values at the bars' ends. Of more than
/// mostRows the first are drawn, and a line below says so; the data that are copied have all.
class BarChart : public QChartView, public ChartSource {
    Q_OBJECT
public:
    BarChart(const Theme &theme, QString name, QWidget *parent = nullptr);
    static constexpr qsizetype mostRows = 100; ///< Qt Charts keeps an item for each pair of rows

    void setAxisTitle(const QString &title);
    [[nodiscard]] const QString &axisTitle() const { return m_title; }
    /// A line drawn across all bars (speed-up 1), with its name under it.
    void setMark(std::optional<double> at);
    void setEmptyText(const QString &text);
    void setBars(const QList<BarData> &bars);
    [[nodiscard]] const QList<BarData> &bars() const { return m_bars; }
    [[nodiscard]] qsizetype rows() const { return std::min(m_bars.size(), mostRows); } ///< that are drawn
    /// "The first 100 of 1,000 are shown"; empty: all are.
    [[nodiscard]] QString leftOutText() const;
    /// Highlights the run whose bar is under the pointer, and pales the others meanwhile.
    void follow(RunHighlight &highlight);
    /// A row's tooltip: the whole name, its value, its interval, and further remarks.
    [[nodiscard]] QString hintOf(qsizetype row) const;

    [[nodiscard]] QString chartName() const override { return m_name; }
    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QSize exportSize() const override { return {960, sizeHint().height() + 48}; }
    void renderChart(QPainter *painter, const QSize &size) override;

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 120}; }

protected:
    void resizeEvent(QResizeEvent *event) override;
    void drawForeground(QPainter *painter, const QRectF &rect) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;
    bool viewportEvent(QEvent *event) override;

private:
    void restyle();
    void rebuild();
    void shade(); ///< the bars' colours, by the highlighted run
    [[nodiscard]] double rowCentre(qsizetype row) const;
    [[nodiscard]] qsizetype rowAt(double y) const; ///< -1: none
    [[nodiscard]] double nameWidth() const;
    double drawWhisker(QPainter *painter, double low, double high, double y); ///< returns where it ends

    const Theme &m_theme;
    QString m_name, m_title, m_empty;
    QHorizontalStackedBarSeries *m_series;
    QBarCategoryAxis *m_rows;
    QCategoryAxis *m_values;
    QList<BarData> m_bars;
    std::optional<double> m_mark;
    RunHighlight *m_highlight = nullptr;
    double m_high = 1;
};

} // namespace lockstep::ui
