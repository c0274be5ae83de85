// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/use_model.h"

#include <algorithm>

#include "base/format.h"

namespace lockstep::ui {

UseModel::UseModel(QObject *parent) : TableModel(columns(1), parent) {}

void UseModel::setTable(const core::ResultTable &table) {
    std::vector<UseRow> rows;
    std::size_t epochs = 1;
    for (const core::ResultRow &result : table.rows) {
        if (result.published) {
            if (!result.utilisation.empty())
                rows.push_back({QString::fromStdString(result.name),
                                QString::fromStdString(result.method),
                                tr("published"),
                                QString::fromStdString(result.utilisation),
                                {},
                                {}});
            continue;
        }
        std::vector<std::string> devices;
        for (const core::MergedEpoch &epoch : result.epochs)
            for (const core::DeviceUse &use : epoch.devices)
                if (std::find(devices.begin(), devices.end(), use.device) == devices.end())
                    devices.push_back(use.device);
        for (const std::string &device : devices) {
            UseRow row{QString::fromStdString(result.name),
                       QString::fromStdString(result.method),
                       QString::fromStdString(device),
                       {},
                       {},
                       {}};
            for (const core::MergedEpoch &epoch : result.epochs) {
                const auto use = std::find_if(epoch.devices.begin(), epoch.devices.end(),
                                              [&](const core::DeviceUse &u) { return u.device == device; });
                row.mean.resize(std::size_t(epoch.epoch)); // of epochs before, which a run may lack, nothing is known
                row.highest.resize(std::size_t(epoch.epoch));
                row.mean.back() = use == epoch.devices.end() ? std::nullopt : use->utilizationMean;
                row.highest.back() = use == epoch.devices.end() ? std::nullopt : use->utilizationMax;
            }
            epochs = std::max(epochs, row.mean.size());
            rows.push_back(std::move(row));
        }
    }
    resetTable(columns(epochs), std::move(rows));
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
            const std::optional<double> mean = epoch < row.mean.size() ? row.mean[epoch] : std::nullopt;
            core::TableCell out = core::TableCell::ofNumber(mean, core::percent(mean, 0));
            out.hint = mean ? tr("mean %1, highest %2").arg(out.text, core::percent(row.highest[epoch], 0))
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
