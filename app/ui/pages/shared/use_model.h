// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "analysis/compare/result_table.h"
#include "models/table_model.h"

namespace lockstep::ui {

struct UseRow {
    QString name, method, device;
    QString published; ///< in words, where a publication has no figures by epoch
    struct Use {
        std::optional<double> mean, highest;
    };
    std::map<std::size_t, Use> uses; ///< by epoch, from 1
};

/// Utilisation of each device in each epoch: a row per run and device, a column per epoch after the names. A view on a
/// ResultTable's epochs.
class UseModel : public core::TableModel<UseRow> {
    Q_OBJECT
public:
    explicit UseModel(QObject *parent = nullptr);
    void setTable(const core::ResultTable &table);

protected:
    [[nodiscard]] QVariant rowData(const UseRow &row, int role) const override;

private:
    static void addRows(const core::ResultRow &result, std::vector<UseRow> &rows);
    [[nodiscard]] static std::vector<core::TableColumn<UseRow>> columns(std::size_t epochs);
};

} // namespace lockstep::ui
