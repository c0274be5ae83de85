// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>

#include "models/run_set.h"
#include "models/table_model.h"

namespace lockstep::core {

struct AlertRow {
    QString run, runId;
    std::int64_t wallUs = 0;
    QString severity, kind, message;
    bool seen = false; ///< acknowledged
    bool operator==(const AlertRow &) const = default;
};

/// Alerts of all runs in the set, and what is wrong with their logs ("3 frames lost, seq 17-19"). LevelRole is the
/// severity, "debug" once it is acknowledged.
class AlertModel : public TableModel<AlertRow> {
public:
    enum Column { Time, Run, Severity, Message, WhatToDo, ColumnCount };
    explicit AlertModel(RunSet *runs, QObject *parent = nullptr);
    /// The run's alerts up to that moment, microseconds since 1970, have been acknowledged.
    void setSeen(const QString &runId, std::int64_t untilUs);
    [[nodiscard]] int unseen() const;
    [[nodiscard]] std::map<QString, std::int64_t> newest() const; ///< of each run with an alert: when it was raised

protected:
    [[nodiscard]] QVariant rowData(const AlertRow &row, int role) const override;

private:
    void refresh();
    /// Of all runs, by time.
    [[nodiscard]] std::vector<AlertRow> alerts();
    [[nodiscard]] std::vector<AlertRow> alertsOf(int run);
    RunSet *m_runs;
    std::vector<std::vector<AlertRow>> m_ofRuns; ///< as they were last read
    /// Run, first seq (absent: the gaps that are only counted) → when the gap was found.
    std::map<std::pair<QString, std::optional<std::uint64_t>>, std::int64_t> m_gapsUs;
    std::map<QString, std::int64_t> m_seenUs; ///< by run
};

} // namespace lockstep::core
