#pragma once
#include <deque>

#include <QAbstractTableModel>
#include <QPointer>

#include "models/run_set.h"

namespace lockstep::core {

/// Log lines of all ranks and the agent of every run in the set, in the order they came; appended, oldest dropped past
/// 20,000.
class ConsoleModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Time, Run, Source, Level, Message, ColumnCount }; ///< Source: "rank 1", "agent"
    explicit ConsoleModel(RunSet *runs, QObject *parent = nullptr);

    /// When and by which run a row was written.
    [[nodiscard]] std::int64_t wallUsAt(int row) const { return m_lines[std::size_t(row)].line.wallUs; }
    [[nodiscard]] QString runAt(int row) const { return m_lines[std::size_t(row)].runId; }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Line {
        QString run, runId;
        ConsoleLine line;
    };
    void rebuild();
    void append(int run);
    RunSet *m_runs;
    std::deque<Line> m_lines;
    std::vector<std::uint64_t> m_taken; ///< lines taken of each run, dropped ones counted
};

} // namespace lockstep::core
