#pragma once
#include <string>
#include <vector>

#include <QAbstractTableModel>

#include "models/run_set.h"

namespace lockstep::core {

/// Where a step goes: a row per rank of every run, a column per phase. ValueRole is seconds per step (mean),
/// ShareRole the share of the additive phases' sum. Column 0 is the row's name ("DDP ×2 rank 1").
class PhaseModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit PhaseModel(RunSet *runs, QObject *parent = nullptr);
    [[nodiscard]] RunSet *runs() const { return m_runs; }
    /// 0: the whole run; else the last so many seconds (up to 60).
    void setWindow(double seconds);
    [[nodiscard]] const std::vector<std::string> &phases() const {
        return m_phases;
    } ///< column 1 + i; additive ones first
    [[nodiscard]] int additiveCount() const { return m_additive; }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Row {
        int run = 0, rank = 0;
        PhaseTimes phases;
        std::int64_t steps = 0;
        double additiveS = 0;
    };
    void rebuild();
    void refresh(int run);
    void fill(Row &row) const;
    RunSet *m_runs;
    double m_windowS = 0;
    std::vector<std::string> m_phases;
    int m_additive = 0;
    std::vector<Row> m_rows;
};

} // namespace lockstep::core
