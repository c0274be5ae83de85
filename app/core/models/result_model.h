#pragma once
#include <QAbstractTableModel>

#include "analysis/result_table.h"

namespace lockstep::core {

/// The verdict's table: a row per run of the plan, then the published ones.
class ResultModel : public QAbstractTableModel {
    Q_OBJECT
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
        Nodes,
        State,
        Notes,
        ColumnCount
    };
    explicit ResultModel(QObject *parent = nullptr);
    void setTable(const ResultTable &table);
    [[nodiscard]] const ResultTable &table() const { return m_table; }
    [[nodiscard]] const ResultRow &rowAt(int row) const { return m_table.rows[std::size_t(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    ResultTable m_table;
};

/// Test accuracy by class: a row per run, a column per class (classes 0-9), after the name.
class ClassAccuracyModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit ClassAccuracyModel(QObject *parent = nullptr);
    void setTable(const ResultTable &table);
    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    std::vector<ResultRow> m_rows;
    int m_classes = 0;
};

} // namespace lockstep::core
