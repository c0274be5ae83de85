// SPDX-License-Identifier: MIT
#include "shown_rows.h"

#include <algorithm>
#include <vector>

namespace lockstep::cli {
namespace {

constexpr std::size_t most = 12;

} // namespace

std::string moreLine(int leftOut) {
    return leftOut > 0 ? "and " + std::to_string(leftOut) + " more: --all\n" : std::string();
}

ShownRows shownRows(const core::ResultTable &table, bool all) {
    std::vector<const core::ResultRow *> timed;
    ShownRows out;
    std::size_t measured = 0;
    for (const core::ResultRow &row : table.rows) {
        if (row.published)
            continue;
        ++measured;
        if (row.totalTrainingTimeS)
            timed.push_back(&row);
    }
    if (all || measured <= most) {
        for (const core::ResultRow &row : table.rows)
            if (!row.published)
                out.names.insert(row.name);
        return out;
    }
    std::ranges::stable_sort(timed, {}, [](const core::ResultRow *row) { return *row->totalTrainingTimeS; });
    out.names.insert(table.reference);
    if (!timed.empty())
        out.names.insert(timed.back()->name);
    for (std::size_t i = 0; i < timed.size() && out.names.size() < most; ++i)
        out.names.insert(timed[i]->name);
    for (const core::ResultRow &row : table.rows) // rows without a time yet, as far as there is room
        if (!row.published && out.names.size() < most)
            out.names.insert(row.name);
    out.leftOut = int(measured - out.names.size());
    return out;
}

std::string listed(const std::vector<std::string> &names, std::size_t most) {
    std::string out;
    const bool commas =
        std::ranges::any_of(names, [](const std::string &name) { return name.find(',') < name.size(); });
    const std::size_t shown = names.size() > most + 1 ? most : names.size();
    for (std::size_t i = 0; i < shown; ++i)
        out += (i == 0 ? "" : i + 1 == names.size() ? " and " : commas ? "; " : ", ") + names[i];
    return shown < names.size() ? out + " and " + std::to_string(names.size() - shown) + " more" : out;
}

} // namespace lockstep::cli
