// SPDX-License-Identifier: MIT
#include "models/alert_model.h"

#include <algorithm>

#include "ipc/alerts.h"

namespace lockstep::core {
namespace {

/// With the whole text as the hint, since columns of a narrow window are cut.
TableCell withHint(TableCell cell) {
    cell.hint = cell.text;
    return cell;
}

std::vector<TableColumn<AlertRow>> alertColumns() {
    const auto text = [](QString AlertRow::*member) {
        return [member](const AlertRow &row) { return withHint(TableCell::ofWords(row.*member)); };
    };
    return {{QStringLiteral("Time"), [](const AlertRow &row) { return TableCell::ofClock(row.wallUs); }},
            {QStringLiteral("Run"), text(&AlertRow::run)},
            {QStringLiteral("Severity"), text(&AlertRow::severity)},
            {QStringLiteral("Message"), text(&AlertRow::message)},
            {QStringLiteral("What to do"), [](const AlertRow &row) { // nothing for a kind that a script invents
                 return withHint(TableCell::ofText(adviceFor(row.kind.toStdString())));
             }}};
}

} // namespace

AlertModel::AlertModel(RunSet *runs, QObject *parent) : TableModel(alertColumns(), parent), m_runs(runs) {
    setRows(alerts());
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        setRows(alerts());
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        const RunStore::Changes ofRun = RunStore::Changes(RunStore::Alerts) | RunStore::Gaps | RunStore::Link;
        const bool renamed = (what & RunStore::Record) && !rows().empty(); // and others' names may depend on its name
        if (renamed || ((what & ofRun) && alertsOf(run) != m_ofRuns[std::size_t(run)]))
            refresh();
    });
}

std::vector<AlertRow> AlertModel::alertsOf(int run) {
    std::vector<AlertRow> out;
    const RunStore *store = m_runs->at(run);
    const QString label = m_runs->label(run);
    const auto acknowledged = m_seenUs.find(store->runId());
    const std::int64_t seenUs = acknowledged == m_seenUs.end() ? 0 : acknowledged->second;
    const auto add = [&](std::int64_t wallUs, const AlertFrame &alert) {
        out.push_back(
            {label, store->runId(), wallUs, qs(alert.severity), qs(alert.kind), qs(alert.message), wallUs <= seenUs});
    };
    for (const AlertLine &line : store->messages().alerts())
        add(line.wallUs, line.alert);
    const auto addGap = [&](std::optional<std::uint64_t> seq, const std::string &text) {
        add(m_gapsUs.try_emplace({store->runId(), seq}, store->log().lastWallUs).first->second, makeAlert("gap", text));
    };
    for (const LogGap &gap : store->log().gaps.listed())
        addGap(gap.firstSeq, gap.text());
    if (const std::string others = store->log().gaps.textOfOthers(); !others.empty())
        addGap({}, others);
    if (store->lifecycle().link() == LinkState::AgentDied)
        add(store->log().lastWallUs, makeAlert("agent_died", store->lifecycle().deathSentence().toStdString()));
    return out;
}

std::vector<AlertRow> AlertModel::alerts() {
    m_ofRuns.clear();
    std::vector<AlertRow> out;
    for (int run = 0; run < m_runs->count(); ++run) {
        const std::vector<AlertRow> &ofRun = m_ofRuns.emplace_back(alertsOf(run));
        out.insert(out.end(), ofRun.begin(), ofRun.end());
    }
    std::stable_sort(out.begin(), out.end(), [](const AlertRow &a, const AlertRow &b) { return a.wallUs < b.wallUs; });
    return out;
}

void AlertModel::setSeen(const QString &runId, std::int64_t untilUs) {
    std::int64_t &known = m_seenUs[runId];
    known = std::max(known, untilUs);
    refresh();
}

int AlertModel::unseen() const {
    return int(std::ranges::count(rows(), false, &AlertRow::seen));
}

std::map<QString, std::int64_t> AlertModel::newest() const {
    std::map<QString, std::int64_t> out;
    for (const AlertRow &row : rows()) // by time
        out[row.runId] = row.wallUs;
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
    return role == LevelRole    ? QVariant(row.seen ? QStringLiteral("debug") : row.severity)
           : role == RunIdRole  ? QVariant(row.runId)
           : role == ReasonRole ? QVariant(row.kind)
                                : QVariant();
}

} // namespace lockstep::core
