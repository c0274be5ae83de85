#pragma once
#include <QAbstractTableModel>

#include <vector>

#include "analysis/result_table.h"

namespace lockstep::ui {

/// Utilisation of each device in each epoch: a row per run and device, a column per epoch after the names. A view on a
/// ResultTable's epochs.
class UseModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setTable(const core::ResultTable &table);

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Row {
        QString name, method, device, published;
        std::vector<std::optional<double>> mean, highest; ///< by epoch
    };
    std::vector<Row> m_rows;
    int m_epochs = 0;
};

} // namespace lockstep::ui
