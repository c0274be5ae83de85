#include "models/plan_model.h"

#include <algorithm>

#include "launch/backend_choice.h"
#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

const char *const planHeads[PlanModel::ColumnCount] = {"#", "Run", "Repeat", "Devices", "Backend", "Estimate", "State"};

QString deviceName(const RunConfig &config, const std::string &device) {
    return qs(device.starts_with("GPU-") || device.starts_with("MIG-") ? device : config.device + ":" + device);
}

} // namespace

PlanModel::PlanModel(QObject *parent) : QAbstractTableModel(parent) {}

void PlanModel::setPlan(const Plan &plan) {
    beginResetModel();
    m_started = false;
    m_entries.clear();
    for (const PlannedRun &run : plan.runs) {
        ExperimentEntry entry;
        entry.planned = run;
        if (!run.runnable()) {
            entry.state = EntryState::NotRun;
            entry.reason = run.notRunReason;
        }
        m_entries.push_back(std::move(entry));
    }
    setPlaces(plan.order);
    endResetModel();
}

void PlanModel::setPlaces(const std::vector<int> &order) {
    m_places.clear();
    for (std::size_t row = 0; row < m_entries.size(); ++row)
        m_places.push_back(int(row) + 1);
    for (std::size_t i = 0; i < order.size(); ++i)
        if (order[i] >= 0 && order[i] < int(m_places.size()))
            m_places[std::size_t(order[i])] = int(i) + 1;
}

void PlanModel::setExperiment(const Experiment &experiment) {
    const bool same = m_entries.size() == experiment.entries.size() &&
                      std::equal(m_entries.begin(), m_entries.end(), experiment.entries.begin(),
                                 [](const auto &a, const auto &b) { return a.planned == b.planned; });
    if (!same)
        beginResetModel();
    m_entries = experiment.entries;
    m_started = true;
    if (!same)
        setPlaces(experiment.order);
    if (!same)
        endResetModel();
    else if (!m_entries.empty())
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

QStringList PlanModel::devicesAt(int row) const {
    QStringList names;
    const RunConfig &config = runAt(row).config;
    for (std::size_t node = 0; node < config.nodes.size(); ++node)
        for (const std::string &device : config.nodes[node].devices)
            names << qs(titleOf(config.nodes[node])) + u' ' + deviceName(configOfNode(config, int(node)), device);
    if (!names.isEmpty())
        return names;
    for (const std::string &device : config.devices)
        names << deviceName(config, device);
    return names;
}

int PlanModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_entries.size());
}
int PlanModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant PlanModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ExperimentEntry &entry = m_entries[std::size_t(index.row())];
    const PlannedRun &run = entry.planned;
    TableCell cell;
    switch (index.column()) {
    case Order:
        cell = TableCell::ofCount(m_places[std::size_t(index.row())]);
        break;
    case Name:
        cell = TableCell::ofText(run.name);
        break;
    case Repeat:
        cell = {QStringLiteral("%1 of %2").arg(run.repeat).arg(run.repeats), run.repeat, true};
        break;
    case Devices:
        cell = TableCell::ofText(devicesAt(index.row()).join(QStringLiteral(", ")));
        break;
    case Backend:
        cell = TableCell::ofText(backendOf(run).name);
        break;
    case Estimate:
        cell = TableCell::ofNumber(run.estimateS, timeLeft(run.estimateS));
        break;
    case State: {
        const QString state = qs(toString(entry.state));
        const bool unstarted = !m_started && entry.state == EntryState::Queued;
        cell = TableCell::ofText(entry.state == EntryState::NotRun ? qs(entry.reason)
                                 : unstarted                       ? QStringLiteral("will run")
                                                                   : state);
        break;
    }
    default:
        break;
    }
    switch (role) {
    case Qt::DisplayRole:
        return cell.text;
    case ValueRole:
        return cell.value;
    case Qt::TextAlignmentRole:
        return int((cell.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (index.column() == Estimate && !run.estimateS)
            return !run.runnable()       ? qs(run.notRunReason)
                   : run.command.empty() ? QStringLiteral("unknown: this was never run here before")
                                         : QStringLiteral("unknown: what a script takes is not estimated");
        if (const BackendChoice backend = backendOf(run); index.column() == Backend && !backend.name.empty())
            return qs(backend.name + ": " + backend.reason);
        return entry.reason.empty() ? qs(run.note) : qs(entry.reason);
    case MethodRole:
        return qs(toString(run.config.method));
    case StateRole:
        return qs(toString(entry.state));
    case ReasonRole:
        return qs(entry.reason);
    case RunIdRole:
        return entry.run.empty() ? QVariant() : QVariant(qs(entry.run));
    default:
        return {};
    }
}

QVariant PlanModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(planHeads, section, orientation, role);
}

} // namespace lockstep::core
