// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "experiment/experiment.h"
#include "experiment/plan.h"
#include "models/table_model.h"

namespace lockstep::core {

struct PlanRow {
    ExperimentEntry entry;
    int place = 0;        ///< when it runs, from 1
    bool started = false; ///< an experiment exists
};

/// The planned runs, in order; with their states once an experiment exists.
class PlanModel : public TableModel<PlanRow> {
    Q_OBJECT
public:
    enum Column { Order, Name, Repeat, Devices, Backend, Estimate, State, ColumnCount };
    explicit PlanModel(QObject *parent = nullptr);
    void setPlan(const Plan &plan);
    /// The same rows with the experiment's states; emits only dataChanged if the runs are the same as before.
    void setExperiment(const Experiment &experiment);
    [[nodiscard]] const PlannedRun &runAt(int row) const { return rowAt(row).entry.planned; }
    /// Device names to draw as boxes: {"cpu:0", "cpu:1"}.
    [[nodiscard]] QStringList devicesAt(int row) const;

protected:
    [[nodiscard]] QVariant rowData(const PlanRow &row, int role) const override;
};

} // namespace lockstep::core
