#include "models/console_model.h"

#include <algorithm>

#include "models/cells.h"
#include "models/column_head.h"
#include "models/roles.h"

namespace lockstep::core {
namespace {

constexpr std::size_t lineLimit = 20'000, dropAtOnce = 2'000;
const char *const consoleHeads[ConsoleModel::ColumnCount] = {"Time", "Run", "Source", "Level", "Message"};

} // namespace

ConsoleModel::ConsoleModel(RunSet *runs, QObject *parent) : QAbstractTableModel(parent), m_runs(runs) {
    rebuild();
    connect(runs, &RunSet::aboutToReset, this, [this] { beginResetModel(); });
    connect(runs, &RunSet::reset, this, [this] {
        rebuild();
        endResetModel();
    });
    connect(runs, &RunSet::changed, this, [this](int run, RunStore::Changes what) {
        if (what & RunStore::Console)
            append(run);
    });
}

void ConsoleModel::rebuild() {
    m_lines.clear();
    m_taken.clear();
    for (int run = 0; run < m_runs->count(); ++run) {
        const RunStore *store = m_runs->at(run);
        for (const ConsoleLine &line : store->console())
            m_lines.push_back({m_runs->label(run), store->runId(), line});
        m_taken.push_back(store->consoleDropped() + store->console().size());
    }
    std::stable_sort(m_lines.begin(), m_lines.end(),
                     [](const Line &a, const Line &b) { return a.line.wallUs < b.line.wallUs; });
    if (m_lines.size() > lineLimit)
        m_lines.erase(m_lines.begin(), m_lines.end() - std::ptrdiff_t(lineLimit));
}

void ConsoleModel::append(int run) {
    const RunStore *store = m_runs->at(run);
    std::uint64_t &taken = m_taken[std::size_t(run)];
    const std::uint64_t all = store->consoleDropped() + store->console().size();
    const std::uint64_t from = std::max(taken, store->consoleDropped());
    if (all <= from)
        return;
    const int first = int(m_lines.size());
    beginInsertRows({}, first, first + int(all - from) - 1);
    for (std::uint64_t i = from; i < all; ++i)
        m_lines.push_back(
            {m_runs->label(run), store->runId(), store->console()[std::size_t(i - store->consoleDropped())]});
    taken = all;
    endInsertRows();
    if (m_lines.size() <= lineLimit + dropAtOnce)
        return;
    const int drop = int(m_lines.size() - lineLimit);
    beginRemoveRows({}, 0, drop - 1);
    m_lines.erase(m_lines.begin(), m_lines.begin() + drop);
    endRemoveRows();
}

int ConsoleModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_lines.size());
}
int ConsoleModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant ConsoleModel::data(const QModelIndex &index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Line &line = m_lines[std::size_t(index.row())];
    switch (role) {
    case Qt::DisplayRole:
    case ValueRole:
        break;
    case LevelRole:
        return qs(line.line.level);
    case RankRole:
        return line.line.rank ? QVariant(*line.line.rank) : QVariant();
    case RunIdRole:
        return line.runId;
    default:
        return {};
    }
    switch (index.column()) {
    case Time:
        return role == ValueRole ? QVariant(qlonglong(line.line.wallUs)) : QVariant(clockTime(line.line.wallUs));
    case Run:
        return line.run;
    case Source:
        return line.line.rank ? QStringLiteral("rank %1").arg(*line.line.rank) : QStringLiteral("agent");
    case Level:
        return qs(line.line.level);
    case Message:
        return qs(line.line.message);
    default:
        return {};
    }
}

QVariant ConsoleModel::headerData(int section, Qt::Orientation orientation, int role) const {
    return columnHead(consoleHeads, section, orientation, role);
}

} // namespace lockstep::core
