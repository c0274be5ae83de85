// SPDX-License-Identifier: MIT
#pragma once
#include <QChartView>
#include <QPixmap>

#include <optional>

#include "app/ui/charts/chart_axes.h"
#include "app/ui/charts/chart_source.h"
#include "app/ui/charts/line_content.h"
#include "app/ui/charts/line_painter.h"

namespace lockstep::ui {
class LineInput;
class LinePainter;
class RunHighlight;
class Theme;

/// Lines over one x axis: Qt Charts' axes in our own style with our own curves on them, since a QLineSeries strokes its
/// whole path anew for hit tests at every replace (docs/benchmarks/charts.md). No legend but names and values at the
/// lines' ends, thin grid, few round ticks, a crosshair that reads every line. Points are decimated to the lowest and
/// highest of each pixel column; it says how many of how many are shown. The wheel, a band and keys zoom, Shift and the
/// middle button pan, a double click shows all again.
///
/// The widget combines its parts: LineScale chooses the visible range, DrawnLines decimates, ChartAxes and LinePainter
/// paint, LineInput reads pointer and keys. Two cached pictures, of the axes and of everything, make moving the crosshair
/// cheap: curves are not repainted.
class LineChart : public QChartView, public ChartSource {
    Q_OBJECT
public:
    LineChart(const Theme &theme, QString name, QWidget *parent = nullptr);
    ~LineChart() override;

    void setAxisTitles(const QString &x, const QString &y);
    void setXKind(XKind kind);
    /// Whole-number ticks on x (epochs, steps).
    void setWholeX(bool whole) { setXKind(whole ? XKind::Whole : XKind::Real); }
    /// y starts at zero (durations) or covers just the data (loss), though at least 1 % of their values until it is zoomed.
    void setZeroBased(bool zero) { m_content.scale.setZeroBased(zero); }
    /// The range of x that is shown even before data reaches it; absent: the data's range.
    void setXRange(std::optional<double> low, std::optional<double> high);
    /// Shown in the middle while there is no point.
    void setEmptyText(const QString &text);
    /// Replaces all lines; does nothing if they are equal.
    void setLines(const QList<LineData> &lines);
    [[nodiscard]] const QList<LineData> &lines() const { return m_content.lines.lines(); }
    void setMarks(const QList<ChartMark> &marks);
    [[nodiscard]] const QList<ChartMark> &marks() const { return m_content.marks; }
    /// The lines as they are painted; y as it is, also on a log axis.
    [[nodiscard]] const DrawnLines &drawn() const { return m_content.lines; }
    /// Points painted after decimation, over all lines.
    [[nodiscard]] qsizetype drawnPoints() const { return drawn().points(); }

    /// Highlights the run whose line is under the pointer, and pales the others meanwhile.
    void follow(RunHighlight &highlight);

    /// The crosshair, in x; set on every chart that shares it.
    void setCrosshair(std::optional<double> x);
    [[nodiscard]] std::optional<double> crosshair() const;

    /// What is on screen.
    [[nodiscard]] const LineScale &scale() const { return m_content.scale; }
    void zoomX(double from, double to);
    /// Below 1 zooms in; `x` stays where it is.
    void zoomBy(double factor, double x);
    void showAll();
    /// The x at a place in the view.
    [[nodiscard]] double xAt(double viewX) const;

    [[nodiscard]] QString chartName() const override { return m_name; }
    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QString chartWords() const override;
    void renderChart(QPainter *painter, const QSize &size) override;
    [[nodiscard]] bool hasLogAxis() const override { return true; }
    [[nodiscard]] bool isLogAxis() const override { return scale().isLog(); }
    void setLogAxis(bool log) override;

    [[nodiscard]] QSize sizeHint() const override { return {480, 260}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, leastHeight}; }

Q_SIGNALS:
    void crosshairMoved(std::optional<double> x);   ///< by pointer or key
    void placeChosen(double x, const QString &key); ///< by a click or Return; `key`: the line nearest to it
    void markChosen(const QString &runId, qint64 wallUs);
    void logAxisChanged(bool log);

protected:
    bool viewportEvent(QEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void drawForeground(QPainter *painter, const QRectF &rect) override;
    void mousePressEvent(QMouseEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void mouseDoubleClickEvent(QMouseEvent *event) override;
    void wheelEvent(QWheelEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void leaveEvent(QEvent *event) override;

private:
    static constexpr int leastHeight = 140; ///< px, the axes readable
    void addZoomActions();
    void zoomTo(std::optional<LineScale::Span> x, std::optional<LineScale::Span> y);
    void restyle();
    void rebuild();
    void fitMargins();
    void decimate();
    void repaintAll();
    void refreshPictures();
    [[nodiscard]] LinePainter painterOf() const;

    const Theme &m_theme;
    QString m_name;
    LineContent m_content;
    ChartAxes m_axes;
    LineInput *m_input;
    EndNames m_names; ///< at the lines' ends
    QPixmap m_axesPicture, m_picture;
    bool m_axesStale = true, m_pictureStale = true, m_axesOnly = false;
};

} // namespace lockstep::ui
