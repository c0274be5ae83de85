// SPDX-License-Identifier: MIT
#include "app/ui/widgets/tables.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyleOptionHeader>
#include <QTableView>

#include <algorithm>
#include <cmath>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/clipboard_table.h"
#include "app/ui/widgets/name_lines.h"
#include "ipc/run_title.h"
#include "models/roles.h"

namespace lockstep::ui {
namespace {

constexpr int padding = grid, markWidth = 14;

} // namespace

CellDelegate::CellDelegate(const Theme &theme, int markColumn, QObject *parent)
    : QStyledItemDelegate(parent), m_theme(theme), m_markColumn(markColumn) {}

void CellDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const Palette &p = m_theme.palette();
    painter->save();
    const bool selected = option.state & QStyle::State_Selected, hovered = option.state & QStyle::State_MouseOver;
    if (selected || hovered)
        painter->fillRect(option.rect, selected ? p.selection : p.raised);
    painter->setPen(QPen(p.grid, 1));
    painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
    QRect box = option.rect.adjusted(padding, 0, -padding, 0);
    if (index.column() == m_markColumn) {
        const QString method = index.data(core::MethodRole).toString();
        if (!method.isEmpty()) {
            QPen pen(methodColor(method), 3);
            pen.setCapStyle(Qt::FlatCap);
            if (index.data(core::PublishedRole).toBool()) {
                pen.setWidthF(2);
                pen.setStyle(Qt::DotLine);
            }
            painter->setPen(pen);
            painter->drawLine(box.left(), box.center().y(), box.left() + markWidth, box.center().y());
        }
        box.setLeft(box.left() + markWidth + padding);
    }
    const QString text = textOf(index);
    const auto alignment = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt());
    const bool number = alignment & Qt::AlignRight;
    QFont font = number ? Theme::figures(Type(option.font.pixelSize())) : option.font;
    if (index.column() == m_markColumn && !index.data(core::PublishedRole).toBool())
        font.setWeight(QFont::DemiBold);
    painter->setFont(font);
    const QString state = index.data(core::StateRole).toString(), level = index.data(core::LevelRole).toString();
    const bool failed = state == QLatin1String("failed") && text.startsWith(QLatin1String("failed"));
    const bool wrong = failed || level == QLatin1String("error");
    const QFontMetrics metrics(font);
    if (failed) { // a badge, as on the strip
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(QPen(p.wrong, 1));
        painter->setBrush(p.wrongSoft);
        const int words = std::min(metrics.horizontalAdvance(text), box.width());
        painter->drawRoundedRect(QRectF(box.left() - 5.5, box.center().y() - 9.5, words + 11, 20), 6, 6);
    }
    painter->setPen(wrong                             ? p.wrong
                    : text == QLatin1String("-")      ? mutedInRow(p, selected)
                    : level == QLatin1String("debug") ? mutedInRow(p, selected)
                                                      : p.text);
    const QStringList lines = linesOf(index, font, box.size());
    painter->drawText(box,
                      int(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft)) |
                          (lines.size() == 1 ? Qt::TextSingleLine : Qt::TextDontClip),
                      lines.join(u'\n'));
    painter->restore();
}

QStringList CellDelegate::linesOf(const QModelIndex &index, const QFont &font, const QSize &room) const {
    const QString text = textOf(index);
    return {index.column() == m_markColumn ? elidedName(text, QFontMetricsF(font), room.width())
                                           : QFontMetrics(font).elidedText(text, Qt::ElideRight, room.width())};
}

QString CellDelegate::textOf(const QModelIndex &index) const {
    const QString text = index.data(Qt::DisplayRole).toString();
    return index.column() == m_markColumn ? QString::fromStdString(shortTitle(text.toStdString())) : text;
}

QSize CellDelegate::sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const bool number = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt()) & Qt::AlignRight;
    QFont font = number ? Theme::figures(Type(std::max(12, option.font.pixelSize()))) : option.font;
    if (index.column() == m_markColumn)
        font.setWeight(QFont::DemiBold);
    int width = QFontMetrics(font).horizontalAdvance(textOf(index)) + 2 * padding + 2;
    if (index.column() == m_markColumn)
        width += markWidth + padding;
    return {width, 4 * grid};
}

namespace {

/// Beside the words of a column's head. Its own wish keeps room for a sort arrow in every column: here only the sorted one has it.
int headMargin(bool sorted) {
    return 2 * padding + (sorted ? 16 : 2);
}

QFontMetricsF headMetrics() {
    return QFontMetricsF(Theme::font(Type::Small, QFont::DemiBold));
}

/// Heads stand over their column's values: right over numbers, left over words. What a narrow column cuts from one shows as "…".
class HeaderView : public QHeaderView {
public:
    explicit HeaderView(QWidget *parent) : QHeaderView(Qt::Horizontal, parent) {}

protected:
    void initStyleOptionForIndex(QStyleOptionHeader *option, int section) const override {
        QHeaderView::initStyleOptionForIndex(option, section);
        // Qt points down for what grows; people read ▲ as that.
        if (option->sortIndicator == QStyleOptionHeader::SortDown)
            option->sortIndicator = QStyleOptionHeader::SortUp;
        else if (option->sortIndicator == QStyleOptionHeader::SortUp)
            option->sortIndicator = QStyleOptionHeader::SortDown;
        const bool sorted = isSortIndicatorShown() && sortIndicatorSection() == section;
        if (const int room = sectionSize(section) - headMargin(sorted); room > 0)
            option->text = headMetrics().elidedText(option->text, Qt::ElideMiddle, room);
        if (!model() || model()->rowCount() == 0)
            return;
        const auto alignment = Qt::Alignment(model()->index(0, section).data(Qt::TextAlignmentRole).toInt());
        option->textAlignment = (alignment & Qt::AlignRight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter;
    }
};

} // namespace

QTableView *makeTable(const Theme &theme, QWidget *parent, int markColumn) {
    auto *table = new QTableView(parent);
    table->setItemDelegate(new CellDelegate(theme, markColumn, table));
    table->setHorizontalHeader(new HeaderView(table));
    table->horizontalHeader()->setSectionsClickable(true);
    table->setShowGrid(false);
    table->setFrameShape(QFrame::NoFrame);
    table->setWordWrap(false);
    table->setMouseTracking(true);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->setTabKeyNavigation(false);
    table->setCornerButtonEnabled(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(4 * grid);
    table->verticalHeader()->setMinimumSectionSize(16);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table->horizontalHeader()->setFixedHeight(4 * grid);
    installTableCopy(table);
    return table;
}

void moveColumns(QTableView *table, const QList<int> &first) {
    QHeaderView *header = table->horizontalHeader();
    header->setSectionsMovable(true);
    for (qsizetype i = 0; i < first.size(); ++i)
        header->moveSection(header->visualIndex(first[i]), int(i));
}

namespace {

/// What a column's head and cells take.
int wantedWidth(const QTableView *table, int column) {
    const bool sorted = table->isSortingEnabled() && table->horizontalHeader()->sortIndicatorSection() == column;
    const double text = headMetrics().horizontalAdvance(table->model()->headerData(column, Qt::Horizontal).toString());
    const int head = int(std::ceil(text)) + headMargin(sorted);
    return std::max(head, static_cast<const QAbstractItemView *>(table)->sizeHintForColumn(column));
}

} // namespace

void hideEmptyColumns(QTableView *table, const QList<int> &always) {
    const QAbstractItemModel &model = *table->model();
    const auto isEmpty = [&](int column) {
        for (int row = 0; row < model.rowCount(); ++row)
            if (const QString text = model.index(row, column).data().toString();
                !text.isEmpty() && text != QLatin1String("-"))
                return false;
        return true;
    };
    for (int column = 0; column < model.columnCount(); ++column)
        table->setColumnHidden(column, !always.contains(column) && isEmpty(column));
}

void fitColumn(QTableView *table, int column, int least, int most) {
    table->setColumnWidth(column, std::clamp(wantedWidth(table, column), least, most));
}

void fitColumns(QTableView *table, int least, int most) {
    for (int column = 0; column < table->model()->columnCount(); ++column)
        fitColumn(table, column, least, most);
    int room = table->viewport()->width() - table->horizontalHeader()->length();
    for (int column = 0; column < table->model()->columnCount() && room > 0; ++column)
        if (const int width = table->columnWidth(column), wanted = wantedWidth(table, column);
            !table->isColumnHidden(column) && wanted > width) {
            table->setColumnWidth(column, std::min(wanted, width + room));
            room -= std::min(wanted - width, room);
        }
}

} // namespace lockstep::ui

#include "moc_tables.cpp"
