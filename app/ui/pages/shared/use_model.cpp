// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/use_model.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/format.h"

namespace lockstep::ui {

UseModel::UseModel(QObject *parent) : TableModel(columns(1), parent) {}

void UseModel::setTable(const core::ResultTable &table) {
    std::vector<UseRow> rows;
    int epochs = 1;
    for (const core::ResultRow &result : table.rows) {
        if (!result.published) {
            addRows(result, rows);
            for (const core::MergedEpoch &epoch : result.epochs)
                if (!epoch.devices.empty())
                    epochs = std::max(epochs, result.epochs.back().epoch);
        } else if (!result.utilisation.empty()) {
            rows.push_back({QString::fromStdString(result.name),
                            QString::fromStdString(result.method),
                            tr("published"),
                            QString::fromStdString(result.utilisation),
                            {}});
        }
    }
    resetTable(columns(std::size_t(epochs)), std::move(rows));
}

void UseModel::addRows(const core::ResultRow &result, std::vector<UseRow> &rows) {
    std::unordered_map<std::string_view, std::size_t> places; // in `rows`, by device
    for (const core::MergedEpoch &epoch : result.epochs)
        for (const core::DeviceUse &use : epoch.devices) {
            if (places.size() >= core::mostRunDevices && !places.contains(use.device))
                continue;
            const auto [place, isNew] = places.try_emplace(use.device, rows.size());
            if (isNew)
                rows.push_back({QString::fromStdString(result.name),
                                QString::fromStdString(result.method),
                                QString::fromStdString(use.device),
                                {},
                                {}});
            rows[place->second].uses[std::size_t(epoch.epoch)] = {use.utilizationMean, use.utilizationMax};
        }
}

std::vector<core::TableColumn<UseRow>> UseModel::columns(std::size_t epochs) {
    std::vector<core::TableColumn<UseRow>> out = {
        {tr("Run"),
         [](const UseRow &row) {
             return core::TableCell{row.name, row.name, false, row.published};
         }},
        {tr("Device"), [](const UseRow &row) {
             return core::TableCell{row.device, row.device, false, row.published};
         }}};
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        const auto cell = [epoch](const UseRow &row) {
            if (!row.published.isEmpty())
                return core::TableCell{epoch == 0 ? row.published : QString(), {}, false, row.published};
            const auto found = row.uses.find(epoch + 1);
            const UseRow::Use use = found == row.uses.end() ? UseRow::Use() : found->second;
            core::TableCell out = core::TableCell::ofNumber(use.mean, core::percent(use.mean, 0));
            out.hint = use.mean ? tr("mean %1, highest %2").arg(out.text, core::percent(use.highest, 0))
                                : tr("unknown: no sample in this epoch");
            return out;
        };
        out.push_back(
            {QString::number(epoch + 1), cell, tr("Mean utilisation of the device during epoch %1").arg(epoch + 1)});
    }
    return out;
}

QVariant UseModel::rowData(const UseRow &row, int role) const {
    return role == core::MethodRole      ? QVariant(row.method)
           : role == core::PublishedRole ? QVariant(!row.published.isEmpty())
                                         : QVariant();
}

} // namespace lockstep::ui

#include "moc_use_model.cpp"
