// SPDX-License-Identifier: MIT
#include "app/ui/widgets/clipboard_table.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMimeData>
#include <QRegularExpression>
#include <QTableView>

#include "export/cell_text.h"
#include "export/report.h"

namespace lockstep::ui {
namespace {

core::TextTable cellsOf(const QTableView &view, const QList<int> &rows) {
    const QAbstractItemModel &model = *view.model();
    const QHeaderView &header = *view.horizontalHeader();
    core::TextTable out;
    out.rows.resize(std::size_t(rows.size()));
    for (int visual = 0; visual < header.count(); ++visual) {
        const int column = header.logicalIndex(visual);
        if (view.isColumnHidden(column))
            continue;
        out.heads.push_back(model.headerData(column, Qt::Horizontal).toString().toStdString());
        bool number = false;
        for (qsizetype i = 0; i < rows.size(); ++i) {
            const QModelIndex cell = model.index(rows[i], column);
            out.rows[std::size_t(i)].push_back(cell.data().toString().toStdString());
            number = number || (Qt::Alignment(cell.data(Qt::TextAlignmentRole).toInt()) & Qt::AlignRight);
        }
        out.numbers.push_back(number);
    }
    return out;
}

QList<int> selectedRows(const QTableView &view) {
    QList<int> rows;
    for (const QModelIndex &index : view.selectionModel()->selectedIndexes())
        if (!rows.contains(index.row()))
            rows.append(index.row());
    std::sort(rows.begin(), rows.end());
    return rows;
}

void copy(const QTableView &view, QList<int> rows) {
    if (!view.model() || view.model()->rowCount() == 0)
        return;
    if (rows.isEmpty())
        for (int row = 0; row < view.model()->rowCount(); ++row)
            rows.append(row);
    QGuiApplication::clipboard()->setMimeData(mimeOf(cellsOf(view, rows)));
}

QAction *addAction(QTableView *table, const QString &text, const QKeySequence &keys) {
    auto *action = new QAction(text, table);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    table->addAction(action);
    return action;
}

/// Keeps a cell's text in one cell, and as text. A number has its digits in one piece: a spreadsheet may take a comma for the point.
std::string plain(const std::string &cell, bool number) {
    static const QRegularExpression mark(QStringLiteral("(?<=\\d),(?=\\d{3})"));
    std::string text = core::cellText(number ? QString::fromStdString(cell).remove(mark).toStdString() : cell);
    for (char &c : text)
        if (c == '\t' || c == '\n' || c == '\r')
            c = ' ';
    return text;
}

} // namespace

QMimeData *mimeOf(const core::TextTable &table) {
    std::string tabbed;
    const auto add = [&](const std::vector<std::string> &cells) {
        for (std::size_t i = 0; i < cells.size(); ++i)
            tabbed += (i ? "\t" : "") + plain(cells[i], i < table.numbers.size() && table.numbers[i]);
        tabbed += '\n';
    };
    add(table.heads);
    for (const auto &row : table.rows)
        add(row);
    auto *mime = new QMimeData;
    mime->setText(QString::fromStdString(tabbed));
    mime->setHtml(QString::fromStdString(core::htmlTable(table)));
    return mime;
}

QMimeData *mimeOfTabbed(const QString &tabbed) {
    core::TextTable table;
    for (const QString &line : tabbed.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        std::vector<std::string> cells;
        for (const QString &cell : line.split(QLatin1Char('\t')))
            cells.push_back(cell.toStdString());
        if (table.heads.empty())
            table.heads = cells;
        else
            table.rows.push_back(cells);
    }
    std::size_t columns = table.heads.size();
    for (auto &row : table.rows)
        columns = std::max(columns, row.size());
    table.numbers.assign(columns, false);
    auto *mime = new QMimeData;
    mime->setText(tabbed);
    mime->setHtml(QString::fromStdString(core::htmlTable(table)));
    return mime;
}

void installTableCopy(QTableView *table) {
    table->setContextMenuPolicy(Qt::ActionsContextMenu);
    QAction *rows = addAction(table, QObject::tr("Copy rows"), QKeySequence::Copy);
    QObject::connect(rows, &QAction::triggered, table, [table] { copy(*table, selectedRows(*table)); });
    QAction *all = addAction(table, QObject::tr("Copy table"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C));
    QObject::connect(all, &QAction::triggered, table, [table] { copy(*table, {}); });
}

} // namespace lockstep::ui
