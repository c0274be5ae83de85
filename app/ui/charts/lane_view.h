#pragma once
#include <QColor>
#include <QList>
#include <QPointF>

#include "app/ui/charts/painted_chart.h"

namespace lockstep::ui {

/// One device of one run over time.
struct Lane {
    QString run;    ///< "DDP ×2"; written once for neighbouring lanes of the same run
    QString device; ///< "cpu:0"
    QColor color;
    QList<QPointF> samples; ///< x: seconds on the shared axis, y: utilisation 0..1; sorted by x
    QString value;          ///< at the lane's end: "96 %", "-" when unknown
    QString hint;           ///< tooltip
    bool operator==(const Lane &) const = default;
};

/// Utilisation of many devices as lanes under each other on one time axis: a heat strip (how busy, by depth of the
/// method's colour) with the line on it (mean of each pixel column).
class LaneView : public PaintedChart {
    Q_OBJECT
public:
    LaneView(const Theme &theme, QString name, QWidget *parent = nullptr);

    void setLanes(const QList<Lane> &lanes, double fromS, double toS, const QString &axisTitle);
    [[nodiscard]] const QList<Lane> &lanes() const { return m_lanes; }

    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 96}; }

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] bool isEmpty() const override { return m_lanes.isEmpty(); }
    [[nodiscard]] QString hint(const QPointF &position) const override;

private:
    struct Columns {
        double runWidth, deviceWidth, valueWidth, laneHeight;
        QRectF strip; ///< of all lanes
    };
    [[nodiscard]] Columns layOut(const QRectF &area) const;
    void paintLane(QPainter *painter, const Lane &lane, const QRectF &strip) const;
    void paintAxis(QPainter *painter, const QRectF &strip, const QRectF &area) const;

    QList<Lane> m_lanes;
    double m_from = 0, m_to = 1;
    QString m_axisTitle;
};

/// Mean of y in each of `columns` equal parts of [from, to]; NaN where no sample is near (gaps stay gaps: a column
/// without a sample takes its neighbour's only within `reach` seconds).
[[nodiscard]] QList<double> columnMeans(const QList<QPointF> &samples, double from, double to, int columns,
                                        double reach);

} // namespace lockstep::ui
