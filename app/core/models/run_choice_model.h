// SPDX-License-Identifier: MIT
#pragma once
#include <set>

#include <QStringList>

#include "models/run_set.h"
#include "models/table_model.h"

namespace lockstep::core {

struct RunChoice {
    const RunStore *store = nullptr;
    int place = 0; ///< in the set
};

/// Which runs of the set the charts show: one row per run with a box for showing it and a second box for pinning
/// it. Choices are kept by run id, also while a run is not in the set.
class RunChoiceModel : public TableModel<RunChoice> {
    Q_OBJECT
public:
    enum Column { Name, Loss, Pin, ColumnCount };
    explicit RunChoiceModel(RunSet *runs, QObject *parent = nullptr);

    [[nodiscard]] bool isShown(const QString &runId) const { return !m_hidden.contains(runId); }
    void setShown(const QString &runId, bool shown);
    void showAll(bool shown);
    /// Shows only this run; if it is the only one shown, shows all again.
    void showOnly(const QString &runId);
    [[nodiscard]] bool isPinned(const QString &runId) const { return m_pinned.contains(runId); }
    void setPinned(const QString &runId, bool pinned);
    [[nodiscard]] QStringList pinned() const;
    /// Names of the runs, in the set's order.
    void setNames(const QStringList &names);

    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex &index) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    bool setData(const QModelIndex &index, const QVariant &value, int role) override;

protected:
    [[nodiscard]] QVariant rowData(const RunChoice &row, int role) const override;

Q_SIGNALS:
    void shownChanged();
    void pinnedChanged();

private:
    void emitAllChanged();
    [[nodiscard]] std::vector<RunChoice> choices() const;
    [[nodiscard]] std::vector<TableColumn<RunChoice>> columns() const;
    [[nodiscard]] QString nameOf(const RunChoice &row) const;
    [[nodiscard]] QString hintOf(const RunChoice &row) const;
    RunSet *m_runs;
    std::set<QString> m_hidden, m_pinned;
    QStringList m_names;
};

} // namespace lockstep::core
