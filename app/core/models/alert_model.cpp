// SPDX-License-Identifier: MIT
#include "models/alert_model.h"

#include <algorithm>

namespace lockstep::core {
namespace {

std::vector<TableColumn<AlertRow>> alertColumns() {
    const auto text = [](QString AlertRow::*member) {
        return [member](const AlertRow &row) { return TableCell::ofWords(row.*member); };
    };
    return {{QStringLiteral("Time"), [](const AlertRow &row) { return TableCell::ofClock(row.wallUs); }},
            {QStringLiteral("Run"), text(&AlertRow::run)},
            {QStringLiteral("Severity"), text(&AlertRow::severity)},
            {QStringLiteral("Message"), text(&AlertRow::message)}};
}

} // namespace

AlertModel::AlertModel(RunSet *runs, QObject *parent) : TableModel(alertColumns(), parent), m_runs(runs) {
    setRows(alerts());
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        setRows(alerts());
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Alerts) | RunStore::Gaps | RunStore::Link | RunStore::Record))
            refresh();
    });
}

std::vector<AlertRow> AlertModel::alerts() const {
    std::vector<AlertRow> out;
    for (int run = 0; run < m_runs->count(); ++run) {
        const RunStore *store = m_runs->at(run);
        const QString label = m_runs->label(run);
        const auto add = [&](std::int64_t wallUs, const QString &severity, const QString &kind,
                             const QString &message) {
            out.push_back({label, store->runId(), wallUs, severity, kind, message});
        };
        for (const AlertLine &line : store->messages().alerts())
            add(line.wallUs, qs(line.alert.severity), qs(line.alert.kind), qs(line.alert.message));
        for (const LogGap &gap : store->log().gaps)
            add(store->log().lastWallUs, QStringLiteral("warning"), QStringLiteral("gap"),
                QStringLiteral("%1 frames lost, seq %2-%3").arg(gap.count()).arg(gap.firstSeq).arg(gap.lastSeq));
        if (store->lifecycle().link() == LinkState::AgentDied)
            add(store->log().lastWallUs, QStringLiteral("error"), QStringLiteral("agent_died"),
                QStringLiteral("failed: agent died"));
    }
    std::stable_sort(out.begin(), out.end(), [](const AlertRow &a, const AlertRow &b) { return a.wallUs < b.wallUs; });
    return out;
}

void AlertModel::refresh() {
    std::vector<AlertRow> now = alerts();
    if (now == rows())
        return;
    const std::size_t had = rows().size();
    if (now.size() > had && std::equal(rows().begin(), rows().end(), now.begin()))
        appendRows({now.begin() + std::ptrdiff_t(had), now.end()});
    else
        resetRows(std::move(now));
}

QVariant AlertModel::rowData(const AlertRow &row, int role) const {
    return role == LevelRole    ? QVariant(row.severity)
           : role == RunIdRole  ? QVariant(row.runId)
           : role == ReasonRole ? QVariant(row.kind)
                                : QVariant();
}

} // namespace lockstep::core
