// SPDX-License-Identifier: MIT
#include "analysis/history/run_filter_completion.h"

#include <algorithm>
#include <map>

#include <QStringList>

#include "analysis/history/run_columns.h"
#include "analysis/history/run_filter_tokens.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostChoices = 40;

QString text(const std::string &utf8) {
    return QString::fromStdString(utf8);
}

QString inQuotes(const QString &value) {
    const bool plain = std::none_of(value.begin(), value.end(),
                                    [](QChar c) { return c.isSpace() || QStringLiteral("=!<>~(),").contains(c); });
    return plain ? value : u'"' + value + u'"';
}

/// How many runs have each value of a column.
std::map<QString, int> countsOf(const RunColumn &column, const std::vector<IndexedRun> &runs) {
    std::map<std::string, int> counts;
    for (const IndexedRun &run : runs) {
        const ColumnValue value = column.value(run);
        if (const auto *words = std::get_if<std::string>(&value))
            ++counts[*words];
        else if (std::holds_alternative<double>(value) && column.setting)
            ++counts[shownValue(column, value).toStdString()];
    }
    std::map<QString, int> out;
    for (const auto &[value, count] : counts)
        if (column.kind == ColumnKind::Words)
            for (const QString &word : text(value).split(QStringLiteral(", ")))
                out[word] += count;
        else
            out[text(value)] += count;
    return out;
}

void addValues(const RunColumn &column, const QString &begun, const std::vector<IndexedRun> &runs,
               FilterCompletion &out) {
    if (column.kind == ColumnKind::Flag)
        out.choices = {{QStringLiteral("yes"), {}}, {QStringLiteral("no"), {}}};
    if (column.kind == ColumnKind::Time)
        out.choices = {{QStringLiteral("today"), {}}, {QStringLiteral("yesterday"), {}}};
    std::map<QString, int> counts = countsOf(column, runs);
    for (const std::string &choice : column.choices)
        counts.try_emplace(text(choice), 0);
    std::vector<std::pair<QString, int>> order(counts.begin(), counts.end());
    std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
    for (const auto &[value, count] : order)
        if (!value.isEmpty())
            out.choices.push_back(
                {inQuotes(value), count == 1 ? QStringLiteral("1 run") : QStringLiteral("%1 runs").arg(count)});
    std::erase_if(out.choices, [&](const FilterCompletion::Choice &choice) {
        return !choice.text.contains(begun, Qt::CaseInsensitive) || choice.text == begun;
    });
}

void addKeys(std::span<const RunColumn> columns, const QString &begun, FilterCompletion &out) {
    std::vector<FilterCompletion::Choice> behind; // found inside a key, or in the other spelling
    for (const RunColumn &column : columns) {
        const QString key = text(column.key);
        const bool order = isNumeric(column.kind) && column.kind != ColumnKind::Flag;
        const QString sign = !order            ? QStringLiteral("=")
                             : column.measured ? QStringLiteral(">")
                                               : QStringLiteral(">=");
        const FilterCompletion::Choice choice{key + sign, text(column.help)};
        if (key.startsWith(begun, Qt::CaseInsensitive))
            out.choices.push_back(choice);
        else if (begun.size() > 1 &&
                 (key.contains(begun, Qt::CaseInsensitive) || text(column.also).startsWith(begun, Qt::CaseInsensitive)))
            behind.push_back(choice);
    }
    out.choices.insert(out.choices.end(), behind.begin(), behind.end());
}

} // namespace

bool beginsKey(const QString &line, std::span<const RunColumn> invented) {
    const std::vector<FilterToken> tokens = filterTokens(line);
    if (tokens.empty() || tokens.back().end() != line.size() || tokens.back().quoted ||
        tokens.back().kind != FilterToken::Kind::Word)
        return false;
    const bool value = tokens.size() > 1 && tokens[tokens.size() - 2].kind == FilterToken::Kind::Operator;
    const auto begun = [&](const RunColumn &column) {
        return text(column.key).startsWith(tokens.back().text, Qt::CaseInsensitive);
    };
    return !value && (std::ranges::any_of(runColumns(), begun) || std::ranges::any_of(invented, begun));
}

FilterCompletion completeFilter(const QString &line, qsizetype cursor, const std::vector<IndexedRun> &runs) {
    const std::vector<FilterToken> tokens = filterTokens(line);
    FilterCompletion out;
    out.from = cursor;
    std::size_t before = 0; // tokens that end before what is written now
    while (before < tokens.size() && tokens[before].end() < cursor)
        ++before;
    QString begun;
    if (before < tokens.size() && tokens[before].from < cursor && tokens[before].kind == FilterToken::Kind::Word) {
        const FilterToken &word = tokens[before];
        out.from = word.from;
        out.length = word.length;
        begun = word.quoted ? word.text : line.mid(word.from, cursor - word.from);
        if (const qsizetype comma = begun.lastIndexOf(u','); comma >= 0 && !word.quoted) { // one of several values
            out.from += comma + 1;
            out.length -= comma + 1;
            begun = begun.mid(comma + 1);
        }
    } else if (before < tokens.size() && tokens[before].end() == cursor) {
        ++before; // right behind an operator or a bracket
    }
    const bool value = before >= 2 && tokens[before - 1].kind == FilterToken::Kind::Operator &&
                       tokens[before - 2].kind == FilterToken::Kind::Word;
    const std::vector<RunColumn> invented = inventedColumns(runs);
    const RunColumn *column = value ? findRunColumn(tokens[before - 2].text.toStdString(), invented) : nullptr;
    if (column)
        addValues(*column, begun, runs, out);
    else if (!value && !begun.isEmpty())
        for (const auto columns : {runColumns(), std::span<const RunColumn>(invented)})
            addKeys(columns, begun, out);
    if (out.choices.size() > mostChoices)
        out.choices.resize(mostChoices);
    return out;
}

} // namespace lockstep::core
