// SPDX-License-Identifier: MIT
#pragma once
#include "analysis/compare/result_columns.h"
#include "models/table_model.h"

namespace lockstep::core {

/// The verdict's table: one row per run of the plan, then the published ones. Its columns are those of resultColumns() that the
/// window shows, in that order; columns that code refers to are listed here.
class ResultModel : public TableModel<ResultRow> {
public:
    enum Column {
        Name,
        Kind,
        Devices,
        Backend,
        Workers,
        Loader,
        Repeats,
        FirstEpoch,
        EpochMedian,
        TotalTraining,
        RunTime,
        PublishedTime,
        SpeedUpTraining,
        SpeedUpEpoch,
        SpeedUpRun,
        PrintedSpeedUp,
        Efficiency,
        Accuracy,
        AccuracyDifference,
        FinalLoss,
        LossDifference,
        Utilisation,
        Memory,
        GpuEnergy,
        ProcessorEnergy,
        EnergyPerSample,
        GpuHoursWaiting,
        Nodes,
        State,
        Notes,
        ColumnCount
    };
    explicit ResultModel(QObject *parent = nullptr);
    void setTable(const ResultTable &table);
    [[nodiscard]] const ResultTable &table() const { return m_table; }

protected:
    [[nodiscard]] QVariant rowData(const ResultRow &row, int role) const override;

private:
    ResultTable m_table;
};

/// Test accuracy by class: one row per run; after its name one column per class, as classHeadings() calls it. Of many classes the first
/// mostClasses.
class ClassAccuracyModel : public TableModel<ResultRow> {
public:
    static constexpr std::size_t mostClasses = 200; ///< a view looks at all columns for each
    explicit ClassAccuracyModel(QObject *parent = nullptr);
    void setTable(const ResultTable &table);

protected:
    [[nodiscard]] QVariant rowData(const ResultRow &row, int role) const override;
};

} // namespace lockstep::core
