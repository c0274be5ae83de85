// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QList>
#include <QString>

#include "app/ui/charts/rows_chart.h"

namespace lockstep::ui {

/// One row of a Waterfall.
struct WaterfallBar {
    QString name;
    double seconds = 0;        ///< a total, or the time that a cause adds (negative: saves)
    double low = 0, high = 0;  ///< the 95 % interval of `seconds`; both equal to it where there is none
    bool total = false;        ///< drawn from zero, in `color`
    bool unattributed = false; ///< outlined: its cause is unknown
    QColor color = {};         ///< the method's
    QString hint = {};
    [[nodiscard]] bool isDoubtful() const { return low < high && low <= 0 && high >= 0; } ///< drawn pale
    bool operator==(const WaterfallBar &) const = default;
};

/// From the reference's time to the run's, cause by cause: totals from zero, each cause from where the last one ended. Savings
/// have the full colour, additions are hatched grey, so that the hue still stands for the method.
class Waterfall : public RowsChart<WaterfallBar> {
    Q_OBJECT
public:
    Waterfall(const Theme &theme, QString name, QWidget *parent = nullptr);
    [[nodiscard]] QString chartData() const override;
    void setAxis(const QString &title) { m_axis = title; } ///< call it before setBars()

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] QString hint(const QPointF &position) const override;

private:
    [[nodiscard]] QString textOf(const WaterfallBar &bar) const; ///< "4.20 s", "−3.10 ± 0.21 s"
    [[nodiscard]] double whole() const;                          ///< the largest total: every text has its decimals
    [[nodiscard]] BarRows layOut(const QRectF &area) const;      ///< seconds
    void paintBar(QPainter *painter, const WaterfallBar &bar, const BarRows &rows, double y, double from) const;

    QString m_axis;
};

} // namespace lockstep::ui
