// SPDX-License-Identifier: MIT
#include "app/ui/shell/run_lines_delegate.h"

#include <QFontMetricsF>

#include "app/ui/widgets/name_lines.h"

namespace lockstep::ui {

QStringList RunLinesDelegate::linesOf(const QModelIndex &index, const QFont &font, const QSize &room) const {
    const QFontMetricsF metrics(font);
    const int most = int(room.height() / metrics.height());
    const bool isRun = index.column() == m_runColumn;
    if (most < 2)
        return isRun ? QStringList(elidedName(textOf(index), metrics, room.width()))
                     : CellDelegate::linesOf(index, font, room);
    return isRun ? nameLines(textOf(index), metrics, room.width())
                 : sentenceLines(textOf(index).replace(u'\n', u' '), metrics, room.width(), most);
}

} // namespace lockstep::ui

#include "moc_run_lines_delegate.cpp"
