// SPDX-License-Identifier: MIT
#pragma once
#include <QHash>
#include <QList>
#include <QPointF>

#include <optional>

#include "app/ui/charts/chart_marks.h"
#include "app/ui/charts/lane_strip.h"
#include "app/ui/charts/painted_chart.h"
#include "models/device_metric.h"

namespace lockstep::ui {

/// Many devices as lanes under each other on one time axis and one scale: a heat strip (the busier, the deeper the method's
/// colour) with a line on it (mean of each pixel column); at its end, under heads, its mean, its idle share of the time,
/// and the other programs' load. Events of a run are marked through all its lanes, with
/// a sign at the bottom of the last one. Left, Right and Escape move the crosshair.
class LaneView : public PaintedChart {
    Q_OBJECT
public:
    LaneView(const Theme &theme, QString name, QWidget *parent = nullptr);

    void setLanes(const QList<Lane> &lanes, double fromS, double toS, const QString &axisTitle);
    [[nodiscard]] const QList<Lane> &lanes() const { return m_lanes; }
    /// What the lanes' means are of, as the head of their column: "mean, whole run".
    void setMeanHead(const QString &head);
    [[nodiscard]] const QString &meanHead() const { return m_meanHead; }
    /// The metric of the lanes, and the value of a full lane.
    void setMetric(core::DeviceMetric metric, double full);
    [[nodiscard]] core::DeviceMetric metric() const { return m_metric; }
    /// x: seconds on the axis. Epochs' ends too close to be told apart are left out when painted.
    void setMarks(const QList<ChartMark> &marks);
    [[nodiscard]] const QList<ChartMark> &marks() const { return m_marks; }
    /// Position of a mark's sign in this widget; absent when it is outside the axis or its run has no lane.
    [[nodiscard]] std::optional<QPointF> signOf(const ChartMark &mark) const;
    /// Position of the crosshair for each run, in seconds on the axis: runs pass the same step at different times.
    void setCrosshair(const QHash<QString, double> &byRun);
    [[nodiscard]] const QHash<QString, double> &crosshair() const { return m_crosshair; }

    [[nodiscard]] QStringList cutNames() const; ///< of runs, those that end in "…" here

    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QString chartWords() const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override; ///< every lane readable, the axis whole

Q_SIGNALS:
    void crosshairMoved(const QString &runId, double x); ///< by pointer or key, over a lane of that run
    void crosshairLeft();
    void placeChosen(const QString &runId, double x);     ///< by a click or Return
    void markChosen(const QString &runId, qint64 wallUs); ///< by a click on a sign

protected:
    void mouseMoveEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void leaveEvent(QEvent *event) override;
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] bool isEmpty() const override { return m_lanes.isEmpty(); }
    [[nodiscard]] QString hint(const QPointF &position) const override;
    [[nodiscard]] RunHighlight::Run runAt(const QPointF &position) const override;

private:
    struct Column { ///< of figures at the lanes' ends
        QString head;
        QString Lane::*text;
        double left = 0, width = 0;
    };
    struct Columns {
        double runWidth = 0, deviceWidth = 0, laneHeight = 0;
        QList<Column> figures;
        QRectF strip; ///< of all lanes
    };
    [[nodiscard]] double leastLane() const; ///< px
    [[nodiscard]] QList<Column> figureColumns() const;
    void paintFigures(QPainter *painter, const Columns &columns) const;
    void paintNames(QPainter *painter, const QRectF &area, const Columns &columns) const;
    [[nodiscard]] Columns layOut(const QRectF &area) const;
    void paintCrosshair(QPainter *painter, const Lane &lane, const QRectF &strip) const;
    void paintMarks(QPainter *painter, const Columns &columns) const;
    [[nodiscard]] std::pair<qsizetype, qsizetype> rowsOf(const QString &runId) const; ///< first, count
    [[nodiscard]] double placeOf(double timeS, const QRectF &strip) const;
    [[nodiscard]] const ChartMark *markAt(const QPointF &position) const;
    [[nodiscard]] QString valueOf(const Lane &lane) const;
    [[nodiscard]] const Lane *laneAt(double y) const;
    [[nodiscard]] double timeAt(double x) const;

    QHash<QString, double> m_crosshair;
    core::DeviceMetric m_metric = core::DeviceMetric::Utilisation;
    double m_full = 1;
    QList<Lane> m_lanes;
    QList<ChartMark> m_marks;
    double m_from = 0, m_to = 1;
    QString m_axisTitle, m_meanHead = tr("mean");
};

} // namespace lockstep::ui
