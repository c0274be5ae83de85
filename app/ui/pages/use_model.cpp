#include "app/ui/pages/use_model.h"

#include <algorithm>

#include "analysis/format.h"
#include "models/roles.h"

namespace lockstep::ui {

void UseModel::setTable(const core::ResultTable &table) {
    std::vector<Row> rows;
    int epochs = 0;
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
            Row row{QString::fromStdString(result.name),
                    QString::fromStdString(result.method),
                    QString::fromStdString(device),
                    {},
                    {},
                    {}};
            for (const core::MergedEpoch &epoch : result.epochs) {
                const auto use = std::find_if(epoch.devices.begin(), epoch.devices.end(),
                                              [&](const core::DeviceUse &u) { return u.device == device; });
                row.mean.push_back(use == epoch.devices.end() ? std::nullopt : use->utilizationMean);
                row.highest.push_back(use == epoch.devices.end() ? std::nullopt : use->utilizationMax);
            }
            epochs = std::max(epochs, int(row.mean.size()));
            rows.push_back(std::move(row));
        }
    }
    beginResetModel();
    m_rows = std::move(rows);
    m_epochs = epochs;
    endResetModel();
}

int UseModel::rowCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}

int UseModel::columnCount(const QModelIndex &parent) const {
    return parent.isValid() ? 0 : 2 + std::max(1, m_epochs);
}

QVariant UseModel::data(const QModelIndex &index, int role) const {
    if (!index.isValid())
        return {};
    const Row &row = m_rows[std::size_t(index.row())];
    const auto epoch = std::size_t(std::max(0, index.column() - 2));
    const auto at = [epoch](const std::vector<std::optional<double>> &values) {
        return epoch < values.size() ? values[epoch] : std::nullopt;
    };
    switch (role) {
    case Qt::DisplayRole:
        if (index.column() == 0)
            return row.name;
        if (index.column() == 1)
            return row.device;
        return !row.published.isEmpty() ? (index.column() == 2 ? row.published : QString())
                                        : core::percent(at(row.mean), 0);
    case Qt::ToolTipRole:
        if (index.column() < 2 || !row.published.isEmpty())
            return row.published;
        return at(row.mean)
                   ? tr("mean %1, highest %2").arg(core::percent(at(row.mean), 0), core::percent(at(row.highest), 0))
                   : tr("unknown: no sample fell into this epoch");
    case Qt::TextAlignmentRole:
        return int((index.column() >= 2 && row.published.isEmpty() ? Qt::AlignRight : Qt::AlignLeft) |
                   Qt::AlignVCenter);
    case core::ValueRole:
        return index.column() >= 2 && at(row.mean) ? QVariant(*at(row.mean)) : QVariant();
    case core::MethodRole:
        return row.method;
    case core::PublishedRole:
        return !row.published.isEmpty();
    default:
        return {};
    }
}

QVariant UseModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((section >= 2 ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && section >= 2)
        return tr("Mean utilisation of the device during epoch %1").arg(section - 1);
    if (role != Qt::DisplayRole)
        return {};
    return section == 0 ? tr("Run") : section == 1 ? tr("Device") : tr("Epoch %1").arg(section - 1);
}

} // namespace lockstep::ui
