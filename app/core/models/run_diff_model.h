#pragma once
#include <set>
#include <vector>

#include <QAbstractTableModel>

#include "analysis/run_diff.h"

namespace lockstep::core {

/// Two runs beside each other: a head for each section, the lines that differ, and one line that folds the equal ones away.
class RunDiffModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { What, A, B, Change, ColumnCount };
    enum ExtraRole {
        HeadRole = Qt::UserRole + 100, ///< bool: a section's head
        FoldRole                       ///< bool: stands for the equal lines
    };
    explicit RunDiffModel(QObject *parent = nullptr);

    void setDiff(const RunDiff &diff);
    [[nodiscard]] const RunDiff &diff() const { return m_diff; }
    /// Unfolds or folds the equal lines of the section that this row stands for.
    void toggle(int row);
    void setAllOpen(bool open);
    [[nodiscard]] QString text() const; ///< what is shown, tab-separated, for the clipboard

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role = Qt::DisplayRole) const override;

private:
    struct Row {
        int section = 0;
        int line = -1; ///< -1: the head, -2: the fold
    };
    void rebuild();
    [[nodiscard]] const DiffLine *lineAt(const Row &row) const;
    [[nodiscard]] QString foldText(const DiffSection &section) const;
    RunDiff m_diff;
    std::vector<Row> m_rows;
    std::set<QString> m_open; ///< titles of sections whose equal lines show
};

} // namespace lockstep::core
