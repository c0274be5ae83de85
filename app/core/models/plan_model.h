#pragma once
#include <vector>

#include <QAbstractTableModel>

#include "launch/experiment.h"
#include "launch/plan.h"

namespace lockstep::core {

/// What will run, in order; the same rows with their states once an experiment exists.
class PlanModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Order, Name, Repeat, Devices, Backend, Estimate, State, ColumnCount };
    explicit PlanModel(QObject *parent = nullptr);
    void setPlan(const Plan &plan);
    /// The same rows by the experiment's states; dataChanged only when the runs are the same as before.
    void setExperiment(const Experiment &experiment);
    [[nodiscard]] const PlannedRun &runAt(int row) const { return m_entries[std::size_t(row)].planned; }
    /// Device names to draw as boxes: {"cpu:0", "cpu:1"}.
    [[nodiscard]] QStringList devicesAt(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    void setPlaces(const std::vector<int> &order);
    std::vector<ExperimentEntry> m_entries;
    std::vector<int> m_places; ///< when each row runs, from 1
    bool m_started = false;
};

} // namespace lockstep::core
