#pragma once
#include <QAbstractTableModel>

#include "models/run_set.h"

namespace lockstep::core {

/// Duration and loss per epoch: a row per epoch, two columns per run (2*i duration in s, 2*i+1 loss). The running
/// epoch's row is there from its beginning, with what has run of it.
class EpochModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit EpochModel(RunSet *runs, QObject *parent = nullptr);
    [[nodiscard]] RunSet *runs() const { return m_runs; }
    [[nodiscard]] static int durationColumn(int run) { return 2 * run; }
    [[nodiscard]] static int lossColumn(int run) { return 2 * run + 1; }
    /// Of the complete epochs of a run; absent when none is. The bar "duration per epoch".
    [[nodiscard]] std::optional<double> medianDurationS(int run) const;

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    void changed(int run, RunStore::Changes what);
    [[nodiscard]] int epochs() const;
    RunSet *m_runs;
    int m_rows = 0;
};

} // namespace lockstep::core
