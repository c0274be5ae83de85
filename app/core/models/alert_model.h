#pragma once
#include <QAbstractTableModel>

#include "models/run_set.h"

namespace lockstep::core {

/// Alerts of all runs in the set, and what is wrong with their logs ("3 frames lost, seq 17-19"). LevelRole is the
/// severity.
class AlertModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Time, Run, Severity, Message, ColumnCount };
    explicit AlertModel(RunSet *runs, QObject *parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Line {
        QString run, runId;
        std::int64_t wallUs = 0;
        QString severity, kind, message;
        std::optional<int> rank;
        bool operator==(const Line &) const = default;
    };
    void refresh();
    [[nodiscard]] std::vector<Line> lines() const;
    RunSet *m_runs;
    std::vector<Line> m_lines;
};

} // namespace lockstep::core
