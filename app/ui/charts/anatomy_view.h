// SPDX-License-Identifier: MIT
#pragma once
#include <QList>
#include <QStringList>

#include "app/ui/charts/anatomy_parts.h"
#include "app/ui/charts/bar_rows.h"
#include "app/ui/charts/leader_labels.h"
#include "app/ui/charts/painted_chart.h"

namespace lockstep::ui {

/// Steps of data parallel runs on one time scale that begins with the step: one row per device, its stages from left to
/// right. Device 0 of DP works in all stages, the others only in the parallel ones; a rank of DDP does a whole
/// step. Each device's bar is its own time, and the line after it its wait; where no frame reports its own time, the stretch
/// is outlined with a question mark. Every part is named: within it, or above its row with a line down to it.
class AnatomyView : public PaintedChart {
    Q_OBJECT
public:
    AnatomyView(const Theme &theme, QString name, QWidget *parent = nullptr);
    void setRuns(const QList<AnatomyRun> &runs);
    [[nodiscard]] const QList<AnatomyRun> &runs() const { return m_runs; }
    /// Whether some device's own time is not known.
    [[nodiscard]] bool hasUnknown() const;
    /// The names above a row at that chart width, from left to right. Empty: all parts have room for their names, or the
    /// row above has the same ones at the same positions.
    [[nodiscard]] QStringList namesAbove(qsizetype row, int width) const;

    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override; ///< every row readable, the axis whole

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] bool isEmpty() const override { return m_rows.isEmpty(); }
    [[nodiscard]] QString hint(const QPointF &position) const override;
    [[nodiscard]] RunHighlight::Run runAt(const QPointF &position) const override;

private:
    struct Row {
        qsizetype run = 0;
        std::size_t device = 0;
        QList<AnatomyPart> parts;
        bool band = false; ///< room for names above it
    };
    struct Layout {
        BarRows bars;          ///< milliseconds; rows are not evenly spaced: see `tops`
        QList<double> tops;    ///< of each row, under its band
        double bandHeight = 0; ///< 0: no room for names
    };
    [[nodiscard]] static QString footTitle();
    void arrange();
    [[nodiscard]] int heightFor(double rowHeight) const;
    [[nodiscard]] Layout layOut(const QRectF &area) const;
    [[nodiscard]] QList<LeaderLabel> leadersOf(const Row &row, const BarRows &bars) const;
    [[nodiscard]] QRectF boxOf(const AnatomyPart &part, const BarRows &bars, double top) const;
    void paintRow(QPainter *painter, const Row &row, double top, const BarRows &bars) const;
    void paintPart(QPainter *painter, const AnatomyRun &run, const AnatomyPart &part, const QRectF &box) const;
    void paintFoot(QPainter *painter, const QRectF &area, const Layout &layout) const;
    [[nodiscard]] const Row *rowAt(const QPointF &position, const Layout &layout) const;
    [[nodiscard]] QString hintOf(const Row &row, double ms) const;

    QList<AnatomyRun> m_runs;
    QList<Row> m_rows;
    double m_longestS = 0;
};

} // namespace lockstep::ui
