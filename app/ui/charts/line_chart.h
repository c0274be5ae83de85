// SPDX-License-Identifier: MIT
#pragma once
#include <QChartView>
#include <QPixmap>

#include <memory>
#include <optional>
#include <vector>

#include "analysis/curves/curve.h"
#include "app/ui/charts/chart_marks.h"
#include "app/ui/charts/chart_source.h"

class QCategoryAxis;
class QRubberBand;

namespace lockstep::ui {
class Theme;

/// One line of a LineChart.
struct LineData {
    QString key;  ///< identity over updates
    QString name; ///< at the line's end and in the data: "DDP ×2"
    QColor color;
    Qt::PenStyle style = Qt::SolidLine;       ///< says repeat, or published (dotted)
    bool markers = false;                     ///< a dot at each point (few points)
    bool faint = false;                       ///< the raw line behind a smoothed one: no label, not in the data
    bool labelled = true;                     ///< named at its end; repeats share one name
    QString endText;                          ///< value at the line's end; empty: the last y
    QList<QPointF> points;                    ///< sorted by x; few. Many come as `curve`
    std::shared_ptr<const core::Curve> curve; ///< instead of `points`; may grow until the next setLines()
    std::shared_ptr<const core::Curve> data;  ///< what was measured, where `curve` is made of it: copied and exported
    int windowsAPoint = 1;                    ///< of steps, at most
    bool operator==(const LineData &) const = default;

    [[nodiscard]] qsizetype size() const { return curve ? curve->size() : points.size(); }
    [[nodiscard]] QPointF at(qsizetype index) const { return curve ? curve->at(index) : points[index]; }
};

enum class XKind { Real, Whole, WallTime, Bytes }; ///< ticks of x; WallTime: Unix seconds; Bytes: x is log2 of them

/// Lines over one x axis: Qt Charts' axes with our own look and our own curves on them, since a QLineSeries strokes its
/// whole path anew for hit tests at every replace (docs/benchmarks/charts.md). No legend but names and values at the lines'
/// ends, thin grid, few round ticks, a crosshair that reads every line. Points are decimated to the lowest and highest of
/// each pixel column; how many of how many are shown is told. The wheel, a band and keys zoom, Shift and the middle button
/// pan, a double click shows all again.
///
/// What is painted is kept in two pictures, axes and everything, so that the crosshair costs no repaint of the curves.
class LineChart : public QChartView, public ChartSource {
    Q_OBJECT
public:
    LineChart(const Theme &theme, QString name, QWidget *parent = nullptr);
    ~LineChart() override;

    void setAxisTitles(const QString &x, const QString &y);
    void setXKind(XKind kind);
    /// Whole-number ticks on x (epochs, steps).
    void setWholeX(bool whole) { setXKind(whole ? XKind::Whole : XKind::Real); }
    /// y starts at zero (durations) or hugs the data (loss).
    void setZeroBased(bool zero) { m_zeroBased = zero; }
    /// The range of x that is shown even before data reaches it; absent hugs the data.
    void setXRange(std::optional<double> low, std::optional<double> high);
    /// Shown in the middle while there is no point.
    void setEmptyText(const QString &text);
    /// Replaces all lines; does nothing when they are as they were.
    void setLines(const QList<LineData> &lines);
    [[nodiscard]] const QList<LineData> &lines() const { return m_lines; }
    void setMarks(const QList<ChartMark> &marks);
    [[nodiscard]] const QList<ChartMark> &marks() const { return m_marks; }

    /// Points painted after decimation, over all lines.
    [[nodiscard]] qsizetype drawnPoints() const;
    /// Points as they are painted; y as it is, also on a log axis.
    [[nodiscard]] QList<QPointF> drawnPointsOf(const QString &key) const;
    /// "showing 812 of 400,000 points": over the lines that are not faint, within what is zoomed to. Empty when all are.
    [[nodiscard]] QString shownText() const;

    /// The crosshair, in x; set on every chart that shares it.
    void setCrosshair(std::optional<double> x);
    [[nodiscard]] std::optional<double> crosshair() const { return m_crosshair; }

    /// The x range on screen.
    [[nodiscard]] double xFrom() const { return m_xFrom; }
    [[nodiscard]] double xTo() const { return m_xTo; }
    [[nodiscard]] double yFrom() const { return m_yFrom; } ///< log10 on a log axis
    [[nodiscard]] double yTo() const { return m_yTo; }
    [[nodiscard]] bool isZoomed() const { return m_viewX || m_viewY; }
    void zoomX(double from, double to);
    /// Below 1 zooms in; `x` stays where it is.
    void zoomBy(double factor, double x);
    /// By a share of what is seen; positive moves towards later x.
    void panBy(double share);
    void showAll();
    /// Where a value lies in the view, and the other way.
    [[nodiscard]] QPointF toPlot(const QPointF &value) const;
    [[nodiscard]] double xAt(double viewX) const;

    [[nodiscard]] QString chartName() const override { return m_name; }
    [[nodiscard]] QString chartData() const override;
    void renderChart(QPainter *painter, const QSize &size) override;
    [[nodiscard]] bool hasLogAxis() const override { return true; }
    [[nodiscard]] bool isLogAxis() const override { return m_log; }
    void setLogAxis(bool log) override;

    [[nodiscard]] QSize sizeHint() const override { return {480, 260}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 140}; }

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
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;

private:
    struct Drawn {
        std::shared_ptr<const core::Curve> curve;
        std::uint64_t revision = 0; ///< of the curve when `part` was taken
        double xFrom = 0, xTo = 0;  ///< for which it was taken
        int columns = 0;
        core::CurvePart part;
    };
    struct Drag {
        QPointF from;
        bool pan = false, moved = false;
        double xFrom = 0, xTo = 1, yFrom = 0, yTo = 1; ///< what was seen when it began
    };

    void addZoomActions();
    void restyle();
    void rebuild();
    void layOut();
    void updateAxes();
    void updateParts();
    void repaintAll();
    void changeView(std::optional<std::pair<double, double>> x, std::optional<std::pair<double, double>> y);
    void moveCrosshair(std::optional<double> x);
    void takeDrag(const QPointF &to);
    [[nodiscard]] QString lineAt(const QPointF &position) const;
    [[nodiscard]] const ChartMark *markAt(const QPointF &position) const;
    [[nodiscard]] bool isEmpty() const { return m_isEmpty; }
    [[nodiscard]] std::pair<double, double> wholeX() const;
    [[nodiscard]] int endLabelWidth() const;
    [[nodiscard]] QString xText(double x) const;

    void refreshPictures();
    void paintFront(QPainter *painter) const;
    void paintCurve(QPainter *painter, const LineData &line, const Drawn &drawn) const;
    void paintBroken(QPainter *painter) const;
    void paintMarks(QPainter *painter) const;
    void paintEndLabels(QPainter *painter) const;
    void paintCrosshair(QPainter *painter) const;

    const Theme &m_theme;
    QString m_name, m_empty, m_xTitle, m_yTitle;
    QCategoryAxis *m_x, *m_y;
    QList<LineData> m_lines;
    std::vector<Drawn> m_drawn; ///< one a line
    QList<ChartMark> m_marks;
    std::optional<double> m_xLow, m_xHigh;
    std::optional<std::pair<double, double>> m_viewX, m_viewY; ///< zoomed to; y in log10 when m_log
    double m_xFrom = 0, m_xTo = 1, m_yFrom = 0, m_yTo = 1;     ///< what the axes show; y in log10 when m_log
    XKind m_xKind = XKind::Real;
    bool m_zeroBased = false, m_log = false;
    mutable int m_labelWidth = 0; ///< the end labels' room: grows at once, shrinks when much is free
    std::optional<double> m_crosshair;
    std::optional<Drag> m_drag;
    QRubberBand *m_band;
    QPixmap m_axesPicture, m_picture;
    bool m_axesStale = true, m_pictureStale = true, m_axesOnly = false, m_isEmpty = true;
};

} // namespace lockstep::ui
