// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/tables.h"

namespace lockstep::ui {

/// Cells of the console and of the alerts: a run's name that does not fit keeps its repeat, and a text takes as many lines as its row
/// has room for.
class RunLinesDelegate : public CellDelegate {
    Q_OBJECT
public:
    RunLinesDelegate(const Theme &theme, int runColumn, QObject *parent)
        : CellDelegate(theme, -1, parent), m_runColumn(runColumn) {}
    [[nodiscard]] QStringList linesOf(const QModelIndex &index, const QFont &font, const QSize &room) const override;

private:
    int m_runColumn;
};

} // namespace lockstep::ui
