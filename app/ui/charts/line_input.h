// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QPointF>

#include <optional>

#include "app/ui/charts/line_content.h"

class QChart;
class QKeyEvent;
class QMouseEvent;
class QRubberBand;
class QWheelEvent;
class QWidget;

namespace lockstep::ui {

/// Pointer and keys of a LineChart: they move the crosshair, zoom, pan, and choose positions and marks. It changes
/// only the crosshair itself and emits signals for the rest.
class LineInput : public QObject {
    Q_OBJECT
public:
    using Span = LineScale::Span;
    /// `view`: where the events come from, which is repainted when the crosshair moves.
    LineInput(const LineContent &content, const QChart &chart, QWidget *view);

    [[nodiscard]] std::optional<double> crosshair() const { return m_crosshair; }
    void setCrosshair(std::optional<double> x);
    /// The mark under a position.
    [[nodiscard]] const ChartMark *markAt(const QPointF &position) const;

    void press(QMouseEvent *event);
    void move(const QMouseEvent *event);
    void release(QMouseEvent *event);
    void doubleClick(const QMouseEvent *event);
    void wheel(QWheelEvent *event);
    void key(QKeyEvent *event);
    void leave();

Q_SIGNALS:
    void crosshairMoved(std::optional<double> x);
    void zoomWanted(std::optional<Span> x, std::optional<Span> y); ///< y in log10 on a log axis; absent: all
    void placeChosen(double x, const QString &key);                ///< `key`: the line nearest to it
    void markChosen(const QString &runId, qint64 wallUs);
    void runPointed(const QString &runId, const QString &name); ///< empty: the pointer is on no run's line

private:
    struct Drag {
        QPointF from;
        bool pan = false, moved = false;
        Span x{0, 1}, y{0, 1}; ///< the visible range when it began
    };

    void moveCrosshair(std::optional<double> x);
    void stepBy(int direction, Qt::KeyboardModifiers keys);
    void drag(const QPointF &to);
    void panFrom(const Drag &drag, const QPointF &by);
    void zoomToBand(const QRectF &band);
    void zoomBy(double factor, double x);
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] double xAt(const QPointF &position) const;
    /// The line nearest to a position, within so many pixels; null: none.
    [[nodiscard]] const LineData *lineAt(const QPointF &position, double reach = 1e9) const;
    void pointAtRun(const LineData *line);

    const LineContent &m_content;
    const QChart &m_chart;
    QWidget *m_view;
    QRubberBand *m_band;
    std::optional<double> m_crosshair;
    std::optional<Drag> m_drag;
};

} // namespace lockstep::ui
