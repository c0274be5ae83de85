// SPDX-License-Identifier: MIT
#pragma once
#include "models/run_set.h"
#include "models/table_model.h"

namespace lockstep::core {

struct ConsoleRow {
    QString run, runId;
    ConsoleLine line;
};

/// Log lines of all ranks and the agent of every run in the set, in order of arrival; lines are appended, the oldest ones
/// dropped beyond 20,000.
class ConsoleModel : public TableModel<ConsoleRow> {
public:
    enum Column { Time, Run, Source, Level, Message, ColumnCount }; ///< Source: "rank 1", "agent"
    explicit ConsoleModel(RunSet *runs, QObject *parent = nullptr);

    /// The time and the run of a row.
    [[nodiscard]] std::int64_t wallUsAt(int row) const { return rowAt(row).line.wallUs; }
    [[nodiscard]] QString runAt(int row) const { return rowAt(row).runId; }

protected:
    [[nodiscard]] QVariant rowData(const ConsoleRow &row, int role) const override;

private:
    void rebuild();
    void append(int run);
    RunSet *m_runs;
    std::vector<std::uint64_t> m_taken; ///< lines read from each run, including dropped ones
};

} // namespace lockstep::core
