// SPDX-License-Identifier: MIT
#pragma once
#include <QColor>
#include <QString>

#include <optional>
#include <vector>

#include "app/ui/charts/row_names.h"
#include "app/ui/charts/rows_chart.h"
#include "ipc/frames.h"

namespace lockstep::core {
struct PipelineStep;
}

namespace lockstep::ui {

/// One stage of a pipeline in a mean step.
struct StageBar {
    QString run, device; ///< "pipeline on 2 devices", "cpu:0"
    QColor color;
    std::vector<StageWork> work; ///< in seconds since the first stage began the step
    double busyS = 0;            ///< sum of its work
    double stepS = 0;            ///< until the last stage's work is done
    bool further = false;        ///< a further stage of the run above
    RunHighlight::Run whose = {};
    bool operator==(const StageBar &) const = default;
};

/// The stages of a run as rows.
[[nodiscard]] QList<StageBar> stageBars(const core::PipelineStep &step, const QString &run, const QColor &color,
                                        const RunHighlight::Run &whose = {});
/// The stages' idle share of a step for one run or several, beside that of equally long stages.
class IdleNote {
public:
    void add(const QString &run, const core::PipelineStep &step);
    /// "idle 23 %; balanced 20 %"; with the runs' names where they are several.
    [[nodiscard]] QString text() const;

private:
    struct Shares {
        QString run, idle, balanced; ///< "23 %"
    };
    QList<Shares> m_runs;
};

/// When the stages of a pipeline compute in a mean step: a stage a row, a box for each micro-batch's forward (pale) and backward
/// (solid) with the micro-batch's number, from 1. Between them the stage waits, or sends.
class StageView : public RowsChart<StageBar> {
    Q_OBJECT
public:
    StageView(const Theme &theme, QString name, QWidget *parent = nullptr);
    // For the card around it.
    [[nodiscard]] static QString title();
    [[nodiscard]] static QString explanation();
    [[nodiscard]] QString chartData() const override;

protected:
    void paintChart(QPainter *painter, const QRectF &area) override;
    [[nodiscard]] QString hint(const QPointF &position) const override;
    [[nodiscard]] RunHighlight::Run runAt(const QPointF &position) const override;

private:
    [[nodiscard]] QList<RowName> names() const;
    [[nodiscard]] BarRows layOut(const QRectF &area) const; ///< milliseconds
    void paintWork(QPainter *painter, const StageBar &bar, const BarRows &rows, double y) const;
};

} // namespace lockstep::ui
