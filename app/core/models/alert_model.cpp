#include "models/alert_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

const char *const heads[AlertModel::ColumnCount] = {"Time", "Run", "Severity", "Message"};

} // namespace

AlertModel::AlertModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs), m_lines(lines()) {
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        m_lines = lines();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int, RunStore::Changes what) {
        if (what & (RunStore::Changes(RunStore::Alerts) | RunStore::Gaps | RunStore::Link | RunStore::Record))
            refresh();
    });
}

std::vector<AlertModel::Line> AlertModel::lines() const {
    std::vector<Line> out;
    for (int run = 0; run < m_runs->count(); ++run) {
        const RunStore *store = m_runs->at(run);
        const QString label = m_runs->label(run);
        const auto add = [&](std::int64_t wallUs, const QString &severity, const QString &kind, const QString &message,
                             std::optional<int> rank) {
            out.push_back({label, store->runId(), wallUs, severity, kind, message, rank});
        };
        for (const AlertLine &line : store->alerts())
            add(line.wallUs, qs(line.alert.severity), qs(line.alert.kind), qs(line.alert.message), line.rank);
        for (const LogGap &gap : store->gaps())
            add(store->lastWallUs(), QStringLiteral("warning"), QStringLiteral("gap"),
                QStringLiteral("%1 frames lost, seq %2-%3").arg(gap.count()).arg(gap.firstSeq).arg(gap.lastSeq), {});
        if (store->link() == LinkState::AgentDied)
            add(store->lastWallUs(), QStringLiteral("error"), QStringLiteral("agent_died"),
                QStringLiteral("failed: agent died"), {});
    }
    std::stable_sort(out.begin(), out.end(), [](const Line &a, const Line &b) { return a.wallUs < b.wallUs; });
    return out;
}

void AlertModel::refresh() {
    std::vector<Line> now = lines();
    const bool appended = now.size() > m_lines.size() && std::equal(m_lines.begin(), m_lines.end(), now.begin());
    if (now == m_lines)
        return;
    if (appended) {
        beginInsertRows({}, int(m_lines.size()), int(now.size()) - 1);
        m_lines = std::move(now);
        endInsertRows();
        return;
    }
    beginResetModel();
    m_lines = std::move(now);
    endResetModel();
}

int AlertModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_lines.size());
}
int AlertModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant AlertModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Line &line = m_lines[std::size_t(index.row())];
    switch (role) {
    case Qt::DisplayRole:
    case ValueRole:
        break;
    case LevelRole:
        return line.severity;
    case RankRole:
        return line.rank ? QVariant(*line.rank) : QVariant();
    case RunIdRole:
        return line.runId;
    case ReasonRole:
        return line.kind;
    default:
        return {};
    }
    switch (index.column()) {
    case Time:
        return role == ValueRole ? QVariant(qlonglong(line.wallUs)) : QVariant(clockTime(line.wallUs));
    case Run:
        return line.run;
    case Severity:
        return line.severity;
    case Message:
        return line.message;
    default:
        return {};
    }
}

QVariant AlertModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(heads, section, orientation, role);
}

} // namespace lockstep::core
