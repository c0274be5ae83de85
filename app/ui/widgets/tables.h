// SPDX-License-Identifier: MIT
#pragma once
#include <QStyledItemDelegate>

class QTableView;

namespace lockstep::ui {
class Theme;

/// Draws cells of core's models: figures right-aligned and of equal width, "-" muted, the method's colour as a mark
/// before the first column's text (dotted when published), wrong states in red.
class CellDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    CellDelegate(const Theme &theme, int markColumn, QObject *parent = nullptr);
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    /// A cell's text as it fits into so many px; one line unless a page's delegate has more.
    [[nodiscard]] virtual QStringList linesOf(const QModelIndex &index, const QFont &font, const QSize &room) const;

protected:
    /// A cell's text; the model's unless a page adds to it.
    [[nodiscard]] virtual QString textOf(const QModelIndex &index) const;
    [[nodiscard]] const Theme &theme() const { return m_theme; }

private:
    const Theme &m_theme;
    int m_markColumn;
};

/// A table in the house's style: whole rows selected, no grid, no row numbers, copied by Ctrl+C and Ctrl+Shift+C. `markColumn` < 0: no method marks.
[[nodiscard]] QTableView *makeTable(const Theme &theme, QWidget *parent, int markColumn = -1);
/// Puts these columns first, in this order; the person may move them.
void moveColumns(QTableView *table, const QList<int> &first);
/// Shows the columns in which a row has a value, neither "-" nor nothing, and those of `always`; hides the others.
void hideEmptyColumns(QTableView *table, const QList<int> &always);
/// A column's width by head and content, within [least, most].
void fitColumn(QTableView *table, int column, int least, int most);
/// Column widths by content, within [least, most]; wider, as the content wants, where the table has room left.
void fitColumns(QTableView *table, int least = 56, int most = 320);

} // namespace lockstep::ui
