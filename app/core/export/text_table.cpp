#include <algorithm>

#include "export/report.h"
#include "export/result_columns_detail.h"

namespace lockstep::core {
namespace {

bool isNumber(const ResultColumn &column, const ResultTable &table) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const ResultRow &row) { return column.value(row).is_number(); });
}

bool isKnown(const ResultColumn &column, const ResultTable &table) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const ResultRow &row) { return !column.value(row).is_null(); });
}

} // namespace

TextTable textTable(const ResultTable &table, TextColumns which) {
    TextTable out;
    out.rows.resize(table.rows.size());
    for (const ResultColumn &column : resultColumns()) {
        if (column.least > which || (which != TextColumns::All && !isKnown(column, table)))
            continue;
        out.heads.emplace_back(column.head);
        out.numbers.push_back(isNumber(column, table));
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            out.rows[row].push_back(peopleText(table.rows[row], column));
    }
    for (std::size_t row = 0; row < table.rows.size(); ++row)
        if (which != TextColumns::All && table.rows[row].published)
            out.rows[row].front() += " (published)"; // its kind of figure is no column here
    return out;
}

std::vector<std::string> noteLines(const ResultTable &table) {
    std::vector<std::string> out = table.reservations;
    for (const ResultRow &row : table.rows) {
        const std::string what = row.published ? row.kind : std::string();
        const std::string notes = joined(row.notes);
        const std::string said = what + (what.empty() || notes.empty() ? "" : "; ") + notes;
        if (!said.empty())
            out.push_back(row.name + ": " + said);
    }
    out.insert(out.end(), table.notes.begin(), table.notes.end());
    return out;
}

} // namespace lockstep::core
