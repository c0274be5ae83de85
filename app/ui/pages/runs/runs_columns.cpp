// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_columns.h"

#include <QGuiApplication>
#include <QHeaderView>
#include <QMouseEvent>
#include <QScopedValueRollback>
#include <QSettings>
#include <QTableView>

#include <algorithm>
#include <utility>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/tables.h"
#include "models/run_list_model.h"

namespace lockstep::ui {
namespace {

constexpr int widestFitted = 240; ///< px of a column by its content
constexpr int widestName = 300;   ///< px of the name column that other columns make way for

/// Ticking a column leaves the menu open: people choose several.
class TickMenu : public QMenu {
public:
    using QMenu::QMenu;

protected:
    void mouseReleaseEvent(QMouseEvent *event) override {
        if (QAction *action = actionAt(event->pos()); action && action->isCheckable() && action->isEnabled())
            return action->trigger();
        QMenu::mouseReleaseEvent(event);
    }
    void keyPressEvent(QKeyEvent *event) override {
        if (event->key() == Qt::Key_Space && activeAction() && activeAction()->isCheckable())
            return activeAction()->trigger();
        QMenu::keyPressEvent(event);
    }
};

QStringList usual() {
    QStringList out;
    for (const core::RunColumn &column : core::runColumns())
        if (column.shown)
            out.append(QString::fromStdString(column.key));
    const QString recipe = QStringLiteral("recipe"); // beside the name, which it tells apart
    out.move(out.indexOf(recipe), out.indexOf(QStringLiteral("name")) + 1);
    return out;
}

} // namespace

RunColumns::RunColumns(QTableView *table) : QObject(table), m_table(table), m_menu(new TickMenu(table)) {
    m_menu->setToolTipsVisible(true);
    QHeaderView *head = table->horizontalHeader();
    head->setSectionsMovable(true);
    head->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(head, &QWidget::customContextMenuRequested, this,
            [this, head](const QPoint &at) { m_menu->popup(head->mapToGlobal(at)); });
    connect(m_menu, &QMenu::aboutToShow, this, &RunColumns::buildMenu);
    connect(head, &QHeaderView::sectionMoved, this, &RunColumns::changed);
    connect(head, &QHeaderView::sectionResized, this, [this](int column) {
        const bool dragged = !m_fitting && (QGuiApplication::mouseButtons() & Qt::LeftButton);
        m_sized = m_sized || dragged;
        m_nameSized = m_nameSized || (dragged && column == core::runColumn("name"));
    });
    table->viewport()->installEventFilter(this);
    connect(table->model(), &QAbstractItemModel::modelReset, this, &RunColumns::giveNameTheRest);
    connect(table->model(), &QAbstractItemModel::rowsInserted, this, &RunColumns::giveNameTheRest);
    connect(head, &QHeaderView::sectionHandleDoubleClicked, m_table, &QTableView::resizeColumnToContents);
    connect(head, &QHeaderView::sortIndicatorChanged, this, [this] {
        fit(); // the sorted head needs room for its arrow
        Q_EMIT changed();
    });
    connect(table->model(), &QAbstractItemModel::columnsInserted, this,
            [this](const QModelIndex &, int first, int last) { addInvented(first, last); });
    apply(usual());
}

const core::RunListModel &RunColumns::model() const {
    return *qobject_cast<const core::RunListModel *>(m_table->model());
}

QString RunColumns::keyAt(int column) const {
    const core::RunColumn *found = model().columnAt(column);
    return found ? QString::fromStdString(found->key) : QString();
}

int RunColumns::columnOf(const QString &key) const {
    return model().columnOf(key.toStdString());
}

/// Metrics that scripts invented: hidden, unless they were chosen before.
void RunColumns::addInvented(int first, int last) {
    for (int column = first; column <= last; ++column)
        m_table->setColumnHidden(column, true);
    for (const QString &key : std::exchange(m_awaited, {}))
        if (columnOf(key) >= 0)
            show(key, true);
        else
            m_awaited.append(key);
}

void RunColumns::buildMenu() {
    m_menu->clear();
    QMenu *settings = nullptr;
    for (int i = 0; i < model().columnCount(); ++i) {
        if (!model().columnAt(i))
            continue;
        const core::RunColumn &column = *model().columnAt(i);
        if (column.setting && !column.shown && !settings) {
            settings = new TickMenu(tr("Settings"), m_menu);
            settings->setToolTipsVisible(true);
        }
        QMenu *menu = column.setting && !column.shown ? settings : m_menu;
        const QString key = QString::fromStdString(column.key);
        QAction *action = menu->addAction(column.key == "star" ? tr("★ Star") : QString::fromStdString(column.head));
        action->setToolTip(QString::fromStdString(column.help));
        action->setCheckable(true);
        action->setChecked(!m_table->isColumnHidden(i));
        action->setEnabled(column.key != "name"); // a row needs a name
        connect(action, &QAction::toggled, this, [this, key](bool on) { show(key, on); });
    }
    if (settings)
        m_menu->addMenu(settings);
    m_menu->addSeparator();
    connect(m_menu->addAction(tr("Default columns")), &QAction::triggered, this, &RunColumns::reset);
}

QStringList RunColumns::shown() const {
    QStringList out;
    const QHeaderView *head = m_table->horizontalHeader();
    for (int place = 0; place < head->count(); ++place)
        if (const QString key = keyAt(head->logicalIndex(place));
            !key.isEmpty() && !head->isSectionHidden(head->logicalIndex(place)))
            out.append(key);
    return out;
}

void RunColumns::show(const QString &key, bool on) {
    const int column = columnOf(key);
    if (column < 0 || m_table->isColumnHidden(column) != on)
        return;
    m_table->setColumnHidden(column, !on);
    if (on) {
        QHeaderView *head = m_table->horizontalHeader();
        head->moveSection(head->visualIndex(column), int(shown().size()) - 1);
        fitColumn(m_table, column, 32, widestFitted);
        giveNameTheRest();
    }
    Q_EMIT changed();
}

void RunColumns::reset() {
    m_sized = m_nameSized = false;
    apply(usual());
    fit();
    Q_EMIT changed();
}

void RunColumns::apply(const QStringList &keys) {
    QHeaderView *head = m_table->horizontalHeader();
    for (int column = 0; column < model().columnCount(); ++column)
        if (model().columnAt(column))
            m_table->setColumnHidden(column, !keys.contains(keyAt(column)));
    int place = 0;
    for (const QString &key : keys)
        if (const int column = columnOf(key); column >= 0)
            head->moveSection(head->visualIndex(column), place++);
    const int count = head->visualIndex(core::RunListModel::countColumn());
    head->moveSection(count, head->visualIndex(core::runColumn("name")) + 1);
}

void RunColumns::fit() {
    const QScopedValueRollback fitting(m_fitting, true);
    constexpr int anyState = 9 * grid; // a run that fails later is read without a drag
    const int star = core::runColumn("star"), state = core::runColumn("state");
    for (int column = 0; column < m_table->model()->columnCount() && !m_sized; ++column)
        if (!m_table->isColumnHidden(column))
            fitColumn(m_table, column, column == state ? anyState : 32, column == star ? 32 : widestFitted);
    giveNameTheRest();
}

/// What other columns leave, but at least so much as the names need, within bounds: runs are told apart by them.
void RunColumns::giveNameTheRest() {
    const int name = core::runColumn("name");
    if (m_nameSized)
        return;
    const QScopedValueRollback fitting(m_fitting, true);
    const int width = m_table->columnWidth(name),
              wanted = static_cast<QAbstractItemView *>(m_table)->sizeHintForColumn(name);
    const int left = width + m_table->viewport()->width() - m_table->horizontalHeader()->length();
    const int better = std::max(std::min(wanted, widestName), std::min(std::max(wanted, width), left));
    if (better != width)
        m_table->setColumnWidth(name, better);
}

bool RunColumns::eventFilter(QObject *watched, QEvent *event) {
    if (event->type() == QEvent::Resize && watched == m_table->viewport()) // not while the table is being taken down
        giveNameTheRest();
    return QObject::eventFilter(watched, event);
}

void RunColumns::save(QSettings &settings) const {
    const QStringList keys = shown();
    settings.setValue(QStringLiteral("runs/columns"), keys + m_awaited);
    QStringList widths;
    for (const QString &key : keys)
        widths.append(QString::number(m_table->columnWidth(columnOf(key))));
    settings.setValue(QStringLiteral("runs/widths"), widths);
    const QHeaderView *head = m_table->horizontalHeader();
    settings.setValue(QStringLiteral("runs/sort"),
                      (head->sortIndicatorOrder() == Qt::DescendingOrder ? QStringLiteral("-") : QString()) +
                          keyAt(head->sortIndicatorSection()));
}

void RunColumns::restore(const QSettings &settings) {
    const QStringList keys = settings.value(QStringLiteral("runs/columns")).toStringList();
    const QStringList widths = settings.value(QStringLiteral("runs/widths")).toStringList();
    if (keys.contains(QStringLiteral("name")))
        apply(keys);
    for (const QString &key : keys)
        if (columnOf(key) < 0)
            m_awaited.append(key);
    for (qsizetype i = 0; i < keys.size() && i < widths.size(); ++i)
        if (const int column = columnOf(keys[i]); column >= 0 && widths[i].toInt() >= 24) {
            m_table->setColumnWidth(column, widths[i].toInt());
            m_sized = true;
        }
    const QString sort = settings.value(QStringLiteral("runs/sort")).toString();
    const bool descending = sort.startsWith(QLatin1Char('-'));
    if (const int column = columnOf(sort.mid(descending ? 1 : 0)); column >= 0)
        m_table->sortByColumn(column, descending ? Qt::DescendingOrder : Qt::AscendingOrder);
}

} // namespace lockstep::ui

#include "moc_runs_columns.cpp"
