// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QString>

#include <optional>

#include "analysis/causes/dp_anatomy.h"
#include "app/ui/charts/bar_rows.h"
#include "app/ui/charts/painted_chart.h"

namespace lockstep::ui {

/// A data parallel run and where its step goes.
struct AnatomyRun {
    QString name; ///< "DP ×2"
    QColor color;
    core::DpAnatomy anatomy;
    bool operator==(const AnatomyRun &) const = default;
};

/// A data parallel step drawn as it happens: a row a device, the stages from left to right on one scale of time. Device 0
/// does them all; the others work in the parallel ones alone. There each device's bar is its own time, and the line behind
/// it its wait for the slowest; where no frame tells its own time, the stretch is outlined with a question mark.
class AnatomyView : public PaintedChart {
    Q_OBJECT
public:
    AnatomyView(const Theme &theme, QString name, QWidget *parent = nullptr);
    void setRuns(const QList<AnatomyRun> &runs);
    [[nodiscard]] const QList<AnatomyRun> &runs() const { return m_runs; }
    /// Whether some device's own time is not known.
    [[nodiscard]] bool hasUnknown() const;

    [[nodiscard]] QString chartData() const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override; ///< every row readable, the axis whole

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] bool isEmpty() const override { return m_runs.isEmpty(); }
    [[nodiscard]] QString hint(const QPointF &position) const override;

private:
    [[nodiscard]] qsizetype rowCount() const;
    [[nodiscard]] BarRows layOut(const QRectF &area) const; ///< milliseconds
    void paintDevice(QPainter *painter, const AnatomyRun &run, std::size_t device, const QRectF &row,
                     const BarRows &rows) const;
    void paintStage(QPainter *painter, const AnatomyRun &run, const core::DpStage &stage, const QRectF &box, bool first,
                    std::optional<double> ownS) const;

    QList<AnatomyRun> m_runs;
};

} // namespace lockstep::ui
