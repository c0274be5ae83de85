// SPDX-License-Identifier: MIT
#pragma once
#include "models/run_set.h"
#include "models/table_model.h"

namespace lockstep::core {

struct AlertRow {
    QString run, runId;
    std::int64_t wallUs = 0;
    QString severity, kind, message;
    bool operator==(const AlertRow &) const = default;
};

/// Alerts of all runs in the set, and what is wrong with their logs ("3 frames lost, seq 17-19"). LevelRole is the
/// severity.
class AlertModel : public TableModel<AlertRow> {
public:
    enum Column { Time, Run, Severity, Message, WhatToDo, ColumnCount };
    explicit AlertModel(RunSet *runs, QObject *parent = nullptr);

protected:
    [[nodiscard]] QVariant rowData(const AlertRow &row, int role) const override;

private:
    void refresh();
    [[nodiscard]] std::vector<AlertRow> alerts() const;
    RunSet *m_runs;
};

} // namespace lockstep::core
