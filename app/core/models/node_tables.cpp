// SPDX-License-Identifier: MIT
#include "models/node_tables.h"

#include <algorithm>

#include "base/format.h"

namespace lockstep::core {
namespace {

TableCell wayCell(const DoctorSnapshot &snapshot, std::size_t from, std::size_t to) {
    if (from == to)
        return {QString(), {}, true, QStringLiteral("the same node")};
    const auto found = std::find_if(snapshot.links.begin(), snapshot.links.end(),
                                    [&](const LinkMeasure &link) { return link.from == from && link.to == to; });
    if (found == snapshot.links.end())
        return {QStringLiteral("-"), {}, true, QStringLiteral("not measured")};
    const QString way = qs(found->interface) + QStringLiteral(" to ") + qs(found->address);
    if (!found->ok)
        return {QStringLiteral("no way"), {}, true, way + QStringLiteral(": ") + qs(found->error)};
    return {QStringLiteral("%1 · %2").arg(bandwidth(found->bandwidthBytesS), shortTime(found->roundTripS)),
            found->bandwidthBytesS ? QVariant(*found->bandwidthBytesS) : QVariant(), true, way};
}

} // namespace

CellTable linkTable(const DoctorSnapshot &snapshot) {
    CellTable table;
    table.heads = {QStringLiteral("From \\ to")};
    table.hints = {QStringLiteral("Bandwidth and round trip over the chosen interfaces")};
    for (const NodeSnapshot &node : snapshot.nodes) {
        table.heads << qs(node.node.name);
        table.hints << table.hints.front();
    }
    for (std::size_t from = 0; from < snapshot.nodes.size(); ++from) {
        std::vector<TableCell> row = {TableCell::ofText(snapshot.nodes[from].node.name)};
        for (std::size_t to = 0; to < snapshot.nodes.size(); ++to)
            row.push_back(wayCell(snapshot, from, to));
        table.rows.push_back(std::move(row));
    }
    return table;
}

} // namespace lockstep::core
