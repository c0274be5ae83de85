// SPDX-License-Identifier: MIT
#pragma once
#include <set>
#include <vector>

#include "analysis/history/run_diff.h"
#include "models/table_model.h"

namespace lockstep::core {

/// A line of the comparison: a section's head, a property of both runs, or a fold for the equal lines.
struct RunDiffRow {
    enum class Kind { Head, Line, Fold };
    Kind kind = Kind::Line;
    QString section; ///< its title
    DiffLine line;   ///< for a head or a fold only the label
};

/// Two runs side by side: a head for each section, the lines that differ, and one line in place of the equal ones.
class RunDiffModel : public TableModel<RunDiffRow> {
    Q_OBJECT
public:
    enum Column { What, A, B, Change, ColumnCount };
    enum ExtraRole {
        HeadRole = Qt::UserRole + 100, ///< bool: a section's head
        FoldRole                       ///< bool: replaces the equal lines
    };
    explicit RunDiffModel(QObject *parent = nullptr);

    void setDiff(const RunDiff &diff);
    [[nodiscard]] const RunDiff &diff() const { return m_diff; }
    /// Unfolds or folds the equal lines of this row's section.
    void toggle(int row);
    void setAllOpen(bool open);
    [[nodiscard]] static QString ratioHead(); ///< of the last column: "B ÷ A"
    [[nodiscard]] QString text() const;       ///< what is shown, tab-separated, for the clipboard

protected:
    [[nodiscard]] QVariant rowData(const RunDiffRow &row, int role) const override;

private:
    void rebuild();
    [[nodiscard]] std::vector<TableColumn<RunDiffRow>> columns() const;
    [[nodiscard]] QString foldText(const DiffSection &section) const;
    RunDiff m_diff;
    std::set<QString> m_open; ///< titles of sections whose equal lines are shown
};

} // namespace lockstep::core
