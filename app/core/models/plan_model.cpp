// SPDX-License-Identifier: MIT
#include "models/plan_model.h"

#include <algorithm>

#include "experiment/planned_backend.h"

namespace lockstep::core {
namespace {

QString deviceName(const RunConfig &config, const std::string &device) {
    return qs(device.starts_with("GPU-") || device.starts_with("MIG-") ? device : config.device + ":" + device);
}

QStringList devicesOf(const RunConfig &config) {
    QStringList names;
    for (std::size_t node = 0; node < config.nodes.size(); ++node)
        for (const std::string &device : config.nodes[node].devices)
            names << qs(titleOf(config.nodes[node])) + u' ' + deviceName(configOfNode(config, int(node)), device);
    if (!names.isEmpty())
        return names;
    for (const std::string &device : config.devices)
        names << deviceName(config, device);
    return names;
}

std::vector<PlanRow> planRows(std::vector<ExperimentEntry> entries, const std::vector<int> &order, bool started) {
    std::vector<PlanRow> rows;
    for (ExperimentEntry &entry : entries)
        rows.push_back({std::move(entry), int(rows.size()) + 1, started});
    for (std::size_t i = 0; i < order.size(); ++i)
        if (order[i] >= 0 && order[i] < int(rows.size()))
            rows[std::size_t(order[i])].place = int(i) + 1;
    return rows;
}

QString stateText(const PlanRow &row) {
    if (row.entry.state == EntryState::NotRun)
        return qs(row.entry.reason);
    return !row.started && row.entry.state == EntryState::Queued ? QStringLiteral("will run")
                                                                 : qs(toString(row.entry.state));
}

QString estimateHint(const PlannedRun &run) {
    return !run.runnable()       ? qs(run.notRunReason)
           : run.command.empty() ? QStringLiteral("unknown: nothing like it ran here before")
                                 : QStringLiteral("unknown: this command has not run here before");
}

/// A cell without a tooltip of its own gets the reason why its run does not run, else the run's note.
TableColumn<PlanRow> planColumn(const QString &head, std::function<TableCell(const PlanRow &)> cell) {
    return {head, [cell = std::move(cell)](const PlanRow &row) {
                TableCell out = cell(row);
                if (out.hint.isEmpty())
                    out.hint = qs(row.entry.reason.empty() ? row.entry.planned.note : row.entry.reason);
                return out;
            }};
}

std::vector<TableColumn<PlanRow>> planColumns() {
    const auto of = [](auto cell) { return [cell](const PlanRow &row) { return cell(row.entry.planned); }; };
    return {
        planColumn(QStringLiteral("#"), [](const PlanRow &row) { return TableCell::ofCount(row.place); }),
        planColumn(QStringLiteral("Run"), of([](const PlannedRun &run) { return TableCell::ofText(run.name); })),
        planColumn(QStringLiteral("Repeat"), of([](const PlannedRun &run) {
                       return TableCell{QStringLiteral("%1 of %2").arg(run.repeat).arg(run.repeats), run.repeat, true};
                   })),
        planColumn(QStringLiteral("Devices"), of([](const PlannedRun &run) {
                       return TableCell::ofText(devicesOf(run.config).join(QStringLiteral(", ")));
                   })),
        planColumn(QStringLiteral("Backend"), of([](const PlannedRun &run) {
                       const BackendChoice backend = backendOf(run);
                       TableCell cell = TableCell::ofText(backend.name);
                       cell.hint = backend.name.empty() ? QString() : qs(backend.name + ": " + backend.reason);
                       return cell;
                   })),
        planColumn(QStringLiteral("Estimate"), of([](const PlannedRun &run) {
                       TableCell cell = TableCell::ofNumber(run.estimateS, timeLeft(run.estimateS));
                       cell.hint = run.estimateS ? QString() : estimateHint(run);
                       return cell;
                   })),
        planColumn(QStringLiteral("State"), [](const PlanRow &row) { return TableCell::ofText(stateText(row)); }),
    };
}

} // namespace

PlanModel::PlanModel(QObject *parent) : TableModel(planColumns(), parent) {}

void PlanModel::setPlan(const Plan &plan) {
    std::vector<ExperimentEntry> entries;
    for (const PlannedRun &run : plan.runs) {
        ExperimentEntry &entry = entries.emplace_back();
        entry.planned = run;
        if (!run.runnable()) {
            entry.state = EntryState::NotRun;
            entry.reason = run.notRunReason;
        }
    }
    resetRows(planRows(std::move(entries), plan.order, false));
}

void PlanModel::setExperiment(const Experiment &experiment) {
    const bool same =
        std::equal(rows().begin(), rows().end(), experiment.entries.begin(), experiment.entries.end(),
                   [](const PlanRow &a, const ExperimentEntry &b) { return a.entry.planned == b.planned; });
    std::vector<PlanRow> now = planRows(experiment.entries, experiment.order, true);
    if (!same)
        return resetRows(std::move(now));
    for (std::size_t i = 0; i < now.size(); ++i)
        now[i].place = rows()[i].place; // as in the plan
    updateRows(std::move(now));
}

QStringList PlanModel::devicesAt(int row) const {
    return devicesOf(runAt(row).config);
}

QVariant PlanModel::rowData(const PlanRow &row, int role) const {
    switch (role) {
    case MethodRole:
        return qs(toString(row.entry.planned.config.method));
    case StateRole:
        return qs(toString(row.entry.state));
    case ReasonRole:
        return qs(row.entry.reason);
    case RunIdRole:
        return row.entry.run.empty() ? QVariant() : QVariant(qs(row.entry.run));
    default:
        return {};
    }
}

} // namespace lockstep::core

#include "moc_plan_model.cpp"
