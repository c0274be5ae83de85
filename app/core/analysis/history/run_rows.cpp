// SPDX-License-Identifier: MIT
#include "analysis/history/run_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include <QStringList>

#include "analysis/history/work_amount.h"
#include "base/format.h"
#include "base/moments.h"

namespace lockstep::core {
namespace {

/// A value made ready for many comparisons.
struct SortKey {
    ColumnValue value;
    QString text;
};

SortKey sortKey(ColumnValue value) {
    SortKey key{std::move(value), {}};
    if (const auto *words = std::get_if<std::string>(&key.value))
        key.text = QString::fromStdString(*words).toLower();
    return key;
}

bool known(const SortKey &key) {
    return !std::holds_alternative<std::monostate>(key.value);
}

bool before(const SortKey &a, const SortKey &b, bool descending) {
    if (known(a) != known(b))
        return known(a);
    const SortKey &first = descending ? b : a, &second = descending ? a : b;
    if (std::holds_alternative<std::string>(a.value) && std::holds_alternative<std::string>(b.value))
        return first.text < second.text;
    return valueBefore(first.value, second.value);
}

std::vector<int> sortedBy(const std::vector<SortKey> &keys, bool descending) {
    std::vector<int> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return before(keys[std::size_t(a)], keys[std::size_t(b)], descending); });
    return order;
}

const IndexedRun &at(const std::vector<IndexedRun> &runs, int place) {
    return runs[std::size_t(place)];
}

/// The common value of a group; nothing if the values differ.
std::optional<ColumnValue> shared(const RunColumn &column, const std::vector<IndexedRun> &runs,
                                  const std::vector<int> &which) {
    std::optional<ColumnValue> out;
    for (const int place : which) {
        ColumnValue value = column.value(at(runs, place));
        if (out && *out != value)
            return std::nullopt;
        out = std::move(value);
    }
    return out;
}

/// Repeats have one name; their numbers and what a person called one of them don't matter here.
ColumnValue groupName(const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    const std::string &name = at(runs, which.front()).name;
    return name.empty() ? ColumnValue() : ColumnValue(name);
}

/// By recording the place of its longest done run, which has most of it.
std::map<std::string, int> wholeRecordings(const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    const auto length = [&](int place) { return std::pair(at(runs, place).runTimeS.value_or(0), at(runs, place).run); };
    std::map<std::string, int> out;
    for (const int place : which) {
        const IndexedRun &run = at(runs, place);
        if (run.state != "done" || run.recorded.empty())
            continue;
        const auto [longest, first] = out.try_emplace(run.recorded, place);
        if (!first && length(place) > length(longest->second))
            longest->second = place;
    }
    return out;
}

/// What each of these had to do; one that was recorded early had as much as the whole recording of its measurement.
std::vector<WorkAmount> amountsOf(const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    const std::map<std::string, int> whole = wholeRecordings(runs, which);
    std::vector<WorkAmount> out;
    for (const int place : which) {
        const auto recorded = whole.find(at(runs, place).recorded);
        out.push_back(amountOf(at(runs, recorded == whole.end() ? place : recorded->second)));
    }
    return out;
}

std::string keyIn(const IndexedRun &run, const std::string &folder) {
    return run.name + "\n" + run.method + "\n" + run.work + "\n" + run.host + "\n" + folder;
}

/// The folders of runs by their key without it. A run of which none was recorded is of the only one that is known.
std::map<std::string, std::set<std::string>> foldersOf(const std::vector<IndexedRun> &runs) {
    std::map<std::string, std::set<std::string>> out;
    for (const IndexedRun &run : runs)
        if (!run.folder.empty())
            out[keyIn(run, {})].insert(run.folder);
    return out;
}

/// Of runs of one key those of as much work together. The oldest keep the key: their group stays open when others come.
void splitByAmount(RunGroup group, const std::vector<IndexedRun> &runs, std::vector<RunGroup> &out) {
    std::vector<int> oldest = group.runs;
    std::ranges::sort(oldest, [&](int a, int b) {
        return std::tie(at(runs, a).startWallUs, at(runs, a).run) < std::tie(at(runs, b).startWallUs, at(runs, b).run);
    });
    const std::vector<std::vector<std::size_t>> parts = byAmount(amountsOf(runs, oldest));
    if (parts.size() == 1) {
        out.push_back(std::move(group));
        return;
    }
    for (std::size_t part = 0; part < parts.size(); ++part) {
        std::set<int> members;
        for (const std::size_t each : parts[part])
            members.insert(oldest[each]);
        out.push_back({part == 0 ? group.key : group.key + "\n" + std::to_string(part), {}});
        std::ranges::copy_if(group.runs, std::back_inserter(out.back().runs),
                             [&](int place) { return members.contains(place); });
    }
}

} // namespace

std::string groupKey(const IndexedRun &run) {
    return keyIn(run, run.folder);
}

GroupFigures figuresOf(const RunColumn &column, const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    const std::map<std::string, int> whole = wholeRecordings(runs, which);
    std::vector<double> values;
    for (const int place : which) {
        const IndexedRun &run = at(runs, place);
        const ColumnValue value = run.state == "done" ? column.value(run) : ColumnValue();
        const auto *number = std::get_if<double>(&value);
        if (number && (run.recorded.empty() || whole.at(run.recorded) == place))
            values.push_back(*number);
    }
    GroupFigures out;
    out.count = int(values.size());
    if (!values.empty()) {
        out.least = *std::ranges::min_element(values);
        out.most = *std::ranges::max_element(values);
    }
    out.mean = meanOf(values);
    if (const std::optional<double> variance = varianceOf(values))
        out.deviation = std::sqrt(*variance);
    return out;
}

ColumnValue groupValue(const RunColumn &column, const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    if (column.key == "name")
        return groupName(runs, which);
    if (column.kind == ColumnKind::Time) // a group is as new as its newest run
        return column.value(at(runs, *std::max_element(which.begin(), which.end(), [&](int a, int b) {
                                   return at(runs, a).startWallUs < at(runs, b).startWallUs;
                               })));
    if (column.measured) {
        const GroupFigures figures = figuresOf(column, runs, which);
        return figures.mean ? ColumnValue(*figures.mean) : ColumnValue();
    }
    return shared(column, runs, which).value_or(ColumnValue());
}

QString groupText(const RunColumn &column, const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    if (column.key == "state")
        return groupState(runs, which);
    if (column.measured) {
        const GroupFigures figures = figuresOf(column, runs, which);
        if (!figures.mean)
            return QStringLiteral("-");
        const QString mean = shownValue(column, *figures.mean);
        if (!figures.deviation)
            return mean;
        const double unit = column.kind == ColumnKind::Share   ? 0.01
                            : column.kind == ColumnKind::Bytes ? 1024.0 * 1024
                                                               : 1;
        return mean + QStringLiteral(" ± ") + besideMean(*figures.deviation / unit, mean);
    }
    if (column.key != "name" && column.kind != ColumnKind::Time && !shared(column, runs, which))
        return column.kind == ColumnKind::Flag ? QString() : QStringLiteral("varies");
    return shownValue(column, groupValue(column, runs, which));
}

QString rangeText(const RunColumn &column, const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    const GroupFigures figures = figuresOf(column, runs, which);
    const auto shown = [&](std::optional<double> value) {
        return value ? shownValue(column, *value) : QStringLiteral("-");
    };
    const QString least = shown(figures.least), most = shown(figures.most);
    return least == most ? least : least + QStringLiteral(" to ") + most;
}

QString groupState(const std::vector<IndexedRun> &runs, const std::vector<int> &which) {
    QStringList parts;
    for (const char *state : {"done", "running", "starting", "stopped", "failed", "unknown"}) {
        const auto count =
            std::count_if(which.begin(), which.end(), [&](int place) { return at(runs, place).state == state; });
        if (count > 0)
            parts.append(QStringLiteral("%1 %2").arg(count).arg(QLatin1String(state)));
    }
    return parts.join(QStringLiteral(", "));
}

std::vector<int> sortedRuns(const std::vector<IndexedRun> &runs, const RunOrder &order) {
    const RunColumn &column = order.column;
    std::vector<SortKey> keys;
    keys.reserve(runs.size());
    for (const IndexedRun &run : runs)
        keys.push_back(sortKey(column.value(run)));
    return sortedBy(keys, order.descending);
}

RunRows flatRows(const std::vector<IndexedRun> &runs, const std::vector<int> &sorted, const RunFilter &filter) {
    RunRows out;
    for (const int place : sorted)
        if (filter.accepts(at(runs, place)))
            out.rows.push_back({place, -1});
    out.matched = int(out.rows.size());
    return out;
}

RunRows groupedRows(const std::vector<IndexedRun> &runs, const std::vector<int> &sorted, const RunFilter &filter,
                    const RunOrder &order, const std::set<std::string> &open) {
    RunRows out;
    std::vector<RunGroup> keyed, groups;
    std::unordered_map<std::string, std::size_t> places;
    const std::map<std::string, std::set<std::string>> folders = foldersOf(runs);
    for (const int place : sorted) {
        if (!filter.accepts(at(runs, place)))
            continue;
        ++out.matched;
        const IndexedRun &run = at(runs, place);
        const auto known = folders.find(keyIn(run, {}));
        const bool oneKnown = run.folder.empty() && known != folders.end() && known->second.size() == 1;
        std::string key = oneKnown ? keyIn(run, *known->second.begin()) : groupKey(run);
        const auto [found, fresh] = places.try_emplace(key, keyed.size());
        if (fresh)
            keyed.push_back({std::move(key), {}});
        keyed[found->second].runs.push_back(place);
    }
    for (RunGroup &group : keyed)
        splitByAmount(std::move(group), runs, groups);
    const RunColumn &column = order.column;
    std::vector<SortKey> keys;
    for (const RunGroup &group : groups)
        keys.push_back(sortKey(groupValue(column, runs, group.runs)));
    for (const int place : sortedBy(keys, order.descending)) {
        RunGroup &group = groups[std::size_t(place)];
        const int number = int(out.groups.size());
        out.rows.push_back({-1, number});
        if (open.contains(group.key))
            for (const int run : group.runs)
                out.rows.push_back({run, number});
        out.groups.push_back(std::move(group));
    }
    return out;
}

} // namespace lockstep::core
