// SPDX-License-Identifier: MIT
#include "models/console_model.h"

#include <algorithm>
#include <iterator>

#include "ipc/run_title.h"

namespace lockstep::core {
namespace {

constexpr std::size_t lineLimit = 20'000, dropAtOnce = 2'000;
constexpr std::size_t mostInserted = 64; ///< groups of lines: each is a signal to all views; of more, one reset

bool isEarlier(const ConsoleRow &a, const ConsoleRow &b) {
    return a.line.wallUs < b.line.wallUs;
}

TableCell runCell(const ConsoleRow &row) {
    return {qs(shortTitle(row.run.toStdString())), row.run, false, row.run};
}

std::vector<TableColumn<ConsoleRow>> consoleColumns() {
    const auto said = [](std::string ConsoleLine::*member) {
        return [member](const ConsoleRow &row) { return TableCell::ofWords(qs(row.line.*member)); };
    };
    return {{QStringLiteral("Time"), [](const ConsoleRow &row) { return TableCell::ofClock(row.line.wallUs); }},
            {QStringLiteral("Run"), runCell},
            {QStringLiteral("Source"),
             [](const ConsoleRow &row) {
                 return TableCell::ofWords(row.line.rank ? QStringLiteral("rank %1").arg(*row.line.rank)
                                                         : QStringLiteral("agent"));
             }},
            {QStringLiteral("Level"), said(&ConsoleLine::level)},
            {QStringLiteral("Message"), said(&ConsoleLine::message)}};
}

} // namespace

ConsoleModel::ConsoleModel(RunSet *runs, QObject *parent) : TableModel(consoleColumns(), parent), m_runs(runs) {
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
    std::vector<ConsoleRow> lines;
    m_taken.clear();
    for (int run = 0; run < m_runs->count(); ++run) {
        const RunStore *store = m_runs->at(run);
        for (const ConsoleLine &line : store->messages().console())
            lines.push_back({m_runs->label(run), store->runId(), line});
        m_taken.push_back(store->messages().consoleDropped() + store->messages().console().size());
    }
    std::ranges::stable_sort(lines, isEarlier);
    if (lines.size() > lineLimit)
        lines.erase(lines.begin(), lines.end() - std::ptrdiff_t(lineLimit));
    setRows(std::move(lines));
}

void ConsoleModel::append(int run) {
    const RunStore *store = m_runs->at(run);
    std::uint64_t &taken = m_taken[std::size_t(run)];
    const std::uint64_t all = store->messages().consoleDropped() + store->messages().console().size();
    std::vector<ConsoleRow> lines;
    for (std::uint64_t i = std::max(taken, store->messages().consoleDropped()); i < all; ++i)
        lines.push_back({m_runs->label(run), store->runId(),
                         store->messages().console()[std::size_t(i - store->messages().consoleDropped())]});
    taken = std::max(taken, all);
    insertByTime(std::move(lines));
    if (rows().size() > lineLimit + dropAtOnce)
        dropFirstRows(int(rows().size() - lineLimit));
}

/// New lines of a run that goes on come last; those of a run that is read after others belong between theirs.
void ConsoleModel::insertByTime(std::vector<ConsoleRow> lines) {
    struct Group {
        int at; ///< in the rows as they are now
        std::vector<ConsoleRow> lines;
    };
    std::ranges::stable_sort(lines, isEarlier);
    std::vector<Group> groups;
    for (ConsoleRow &line : lines) {
        const int at = int(std::ranges::upper_bound(rows(), line, isEarlier) - rows().begin());
        if (groups.empty() || groups.back().at != at)
            groups.push_back({at, {}});
        groups.back().lines.push_back(std::move(line));
    }
    if (groups.size() <= mostInserted) {
        for (auto group = groups.rbegin(); group != groups.rend(); ++group)
            insertRowsAt(group->at, std::move(group->lines));
        return;
    }
    std::vector<ConsoleRow> all = rows();
    for (Group &group : groups)
        std::ranges::move(group.lines, std::back_inserter(all));
    std::ranges::stable_sort(all, isEarlier);
    resetRows(std::move(all));
}

QVariant ConsoleModel::rowData(const ConsoleRow &row, int role) const {
    return role == LevelRole ? QVariant(qs(row.line.level)) : role == RunIdRole ? QVariant(row.runId) : QVariant();
}

} // namespace lockstep::core
