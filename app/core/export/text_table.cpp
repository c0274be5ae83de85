// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/compare/result_columns.h"
#include "base/format.h"
#include "export/report.h"
#include "ipc/metrics.h"

namespace lockstep::core {
namespace {

bool isNumber(const ResultColumn &column, const ResultTable &table) {
    return std::any_of(table.rows.begin(), table.rows.end(), [&](const ResultRow &row) {
        const ResultValue value = column.value(row);
        return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
    });
}

bool isKnown(const ResultColumn &column, const ResultTable &table) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const ResultRow &row) { return column.value(row) != ResultValue(); });
}

} // namespace

TextTable textTable(const ResultTable &table, TextColumns which) {
    TextTable out;
    out.rows.resize(table.rows.size());
    for (const ResultColumn &column : resultColumns()) {
        if (column.least > which || (which != TextColumns::All && !isKnown(column, table)))
            continue;
        out.heads.push_back(shownHead(column, ResultPlace::Report));
        out.numbers.push_back(isNumber(column, table));
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            out.rows[row].push_back(shownText(column, table.rows[row], ResultPlace::Report));
    }
    for (std::size_t row = 0; row < table.rows.size(); ++row)
        if (which != TextColumns::All && table.rows[row].published)
            out.rows[row].front() += " (published)"; // there is no column for the kind of its figure
    return out;
}

TextTable metricsTable(const ResultTable &table) {
    const std::vector<std::string> names = metricNames(table);
    TextTable out{{"Run"}, {false}, {}};
    for (const std::string &name : names)
        out.heads.push_back(metricSpec(name).head());
    out.numbers.resize(out.heads.size(), true);
    for (const ResultRow &row : table.rows) {
        if (row.metrics.empty())
            continue;
        std::vector<std::string> &cells = out.rows.emplace_back(1, row.name);
        for (const std::string &name : names) {
            const auto found = row.metrics.find(name);
            cells.push_back(found == row.metrics.end() ? "-" : significant(found->second).toStdString());
        }
    }
    return out;
}

std::vector<std::string> noteLines(const ResultTable &table) {
    std::vector<std::string> out = table.reservations;
    for (const ResultRow &row : table.rows) {
        const std::string what = row.published ? row.kind : std::string();
        const std::string notes = joinedText(row.notes);
        const std::string said = what + (what.empty() || notes.empty() ? "" : "; ") + notes;
        if (!said.empty())
            out.push_back(row.name + ": " + said);
    }
    out.insert(out.end(), table.notes.begin(), table.notes.end());
    return out;
}

} // namespace lockstep::core
