// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QString>

#include "app/ui/charts/row_names.h"
#include "app/ui/charts/rows_chart.h"

namespace lockstep::ui {

/// One phase within a bar.
struct PhasePart {
    QString phase;      ///< wire name: "forward"
    double seconds = 0; ///< mean per step
    bool operator==(const PhasePart &) const = default;
};

/// The phases of one rank's step.
struct PhaseBar {
    QString label;           ///< "DDP on 2 devices rank 1"
    QColor color;            ///< the method's
    QList<PhasePart> parts;  ///< additive, in order; absent ones left out
    QList<PhasePart> nested; ///< inside those: wait, scatter, gather …
    RunHighlight::Run whose = {};
    bool operator==(const PhaseBar &) const = default;
};

/// Stacked bars, a rank a row, on one scale of milliseconds a step. Computing is solid, loading pale,
/// communication hatched, so that a bar reads without a legend; names stand in the parts where they fit.
class PhaseBars : public RowsChart<PhaseBar> {
    Q_OBJECT
public:
    PhaseBars(const Theme &theme, QString name, QWidget *parent = nullptr);
    [[nodiscard]] QString chartData() const override;

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] QString hint(const QPointF &position) const override;
    [[nodiscard]] double leastRow() const override;
    [[nodiscard]] RunHighlight::Run runAt(const QPointF &position) const override;

private:
    [[nodiscard]] BarRows layOut(const QRectF &area) const; ///< milliseconds
    [[nodiscard]] QList<RowName> names() const;
    void paintBar(QPainter *painter, const PhaseBar &bar, const BarRows &rows, double y) const;
};

} // namespace lockstep::ui
