#include "models/phase_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/roles.h"

namespace lockstep::core {

PhaseModel::PhaseModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs) {
    for (const std::string_view name : additivePhases())
        m_phases.emplace_back(name);
    m_additive = int(m_phases.size());
    for (const std::string_view name :
         {phase::comm, phase::wait, phase::scatter, phase::replicate, phase::parallelForward, phase::gather,
          phase::lossOnDevice0, phase::parallelBackward, phase::reduce})
        m_phases.emplace_back(name);
    rebuild();
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        rebuild();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Phases) | RunStore::Record | RunStore::State))
            refresh(run);
    });
}

void PhaseModel::setWindow(double seconds) {
    if (seconds == m_windowS)
        return;
    m_windowS = seconds;
    for (int run = 0; run < m_runs->count(); ++run)
        refresh(run);
}

void PhaseModel::fill(Row &row) const {
    const RunStore *store = m_runs->at(row.run);
    row.phases = m_windowS > 0 ? store->recentPhases(row.rank, m_windowS) : store->phases(row.rank);
    row.additiveS = 0;
    for (int i = 0; i < m_additive; ++i)
        if (const auto found = row.phases.find(m_phases[std::size_t(i)]); found != row.phases.end())
            row.additiveS += found->second.sumS;
    row.steps = m_windowS > 0 ? store->recentSteps(row.rank, m_windowS) : store->phaseSteps(row.rank);
}

void PhaseModel::rebuild() {
    m_rows.clear();
    for (int run = 0; run < m_runs->count(); ++run)
        for (const auto &[rank, info] : m_runs->at(run)->ranks()) {
            Row &row = m_rows.emplace_back();
            row.run = run;
            row.rank = rank;
            fill(row);
        }
}

void PhaseModel::refresh(int run) {
    const std::size_t ranks = m_runs->at(run)->ranks().size();
    const auto mine = [run](const Row &row) { return row.run == run; };
    if (std::size_t(std::count_if(m_rows.begin(), m_rows.end(), mine)) !=
        ranks) { // a rank was heard for the first time
        beginResetModel();
        rebuild();
        endResetModel();
        return;
    }
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (mine(m_rows[i])) {
            fill(m_rows[i]);
            Q_EMIT dataChanged(index(int(i), 0), index(int(i), columnCount() - 1));
        }
}

int PhaseModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}
int PhaseModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : 1 + int(m_phases.size());
}

QVariant PhaseModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row &row = m_rows[std::size_t(index.row())];
    const RunStore *store = m_runs->at(row.run);
    if (role == MethodRole)
        return store->method();
    if (role == RankRole)
        return row.rank;
    if (role == RunIdRole)
        return store->runId();
    if (role == Qt::TextAlignmentRole)
        return int((index.column() > 0 ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (index.column() == 0) {
        if (role != Qt::DisplayRole && role != ValueRole)
            return {};
        const QString label = m_runs->label(row.run);
        return store->ranks().size() > 1 ? label + QStringLiteral(" rank %1").arg(row.rank) : label;
    }
    const auto found = row.phases.find(m_phases[std::size_t(index.column() - 1)]);
    std::optional<double> perStep, share;
    if (found != row.phases.end() && row.steps > 0)
        perStep = found->second.sumS / double(row.steps);
    if (found != row.phases.end() && row.additiveS > 0)
        share = found->second.sumS / row.additiveS;
    switch (role) {
    case Qt::DisplayRole:
        return significant(perStep ? std::optional(*perStep * 1000) : std::nullopt);
    case ValueRole:
        return perStep ? QVariant(*perStep) : QVariant();
    case ShareRole:
        return share ? QVariant(*share) : QVariant();
    case Qt::ToolTipRole:
        return perStep ? percent(share, 1) + QStringLiteral(" of a step")
                       : QStringLiteral("not measured by this method");
    default:
        return {};
    }
}

QVariant PhaseModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    if (section < 0 || section >= columnCount())
        return {};
    if (role == UnitRole)
        return section > 0 ? QStringLiteral("ms") : QString();
    if (role != Qt::DisplayRole)
        return {};
    return section == 0 ? QStringLiteral("Rank") : qs(m_phases[std::size_t(section - 1)]) + QStringLiteral(" (ms)");
}

} // namespace lockstep::core
