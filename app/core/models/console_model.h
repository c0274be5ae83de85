// SPDX-License-Identifier: MIT
#pragma once
#include "models/run_set.h"
#include "models/table_model.h"

namespace lockstep::core {

struct ConsoleRow {
    QString run, runId;
    ConsoleLine line;
};

/// Log lines of all ranks and the agent of every run in the set, in the order of their times, whichever run's are read first; the
/// oldest ones are dropped beyond 20,000.
class ConsoleModel : public TableModel<ConsoleRow> {
public:
    /// Run: as charts name it, "DDP (2) #1"; its value and tooltip are the whole name. Source: "rank 1", "agent".
    enum Column { Time, Run, Source, Level, Message, ColumnCount };
    explicit ConsoleModel(RunSet *runs, QObject *parent = nullptr);

    /// The time and the run of a row.
    [[nodiscard]] std::int64_t wallUsAt(int row) const { return rowAt(row).line.wallUs; }
    [[nodiscard]] QString runAt(int row) const { return rowAt(row).runId; }

protected:
    [[nodiscard]] QVariant rowData(const ConsoleRow &row, int role) const override;

private:
    void rebuild();
    void append(int run);
    void insertByTime(std::vector<ConsoleRow> lines);
    RunSet *m_runs;
    std::vector<std::uint64_t> m_taken; ///< lines read from each run, including dropped ones
};

} // namespace lockstep::core
