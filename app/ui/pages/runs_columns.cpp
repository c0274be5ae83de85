#include "app/ui/pages/runs_columns.h"

#include <QGuiApplication>
#include <QHeaderView>
#include <QMouseEvent>
#include <QSettings>
#include <QTableView>

#include "app/ui/widgets/tables.h"
#include "models/run_list_model.h"

namespace lockstep::ui {
namespace {

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

QString keyAt(int column) {
    const auto columns = core::runColumns();
    return column < int(columns.size()) ? QString::fromStdString(columns[std::size_t(column)].key) : QString();
}

QStringList usual() {
    QStringList out;
    for (const core::RunColumn &column : core::runColumns())
        if (column.shown)
            out.append(QString::fromStdString(column.key));
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
    connect(head, &QHeaderView::sectionResized, this, [this] {
        m_sized = m_sized || (QGuiApplication::mouseButtons() & Qt::LeftButton); // by a person, not by fit()
    });
    connect(head, &QHeaderView::sectionHandleDoubleClicked, m_table, &QTableView::resizeColumnToContents);
    connect(head, &QHeaderView::sortIndicatorChanged, this, [this] {
        fit(); // the sorted head needs room for its arrow
        Q_EMIT changed();
    });
    apply(usual());
}

void RunColumns::buildMenu() {
    m_menu->clear();
    QMenu *settings = nullptr;
    const auto columns = core::runColumns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const core::RunColumn &column = columns[i];
        if (column.setting && !column.shown && !settings) {
            settings = new TickMenu(tr("Settings"), m_menu);
            settings->setToolTipsVisible(true);
        }
        QMenu *menu = column.setting && !column.shown ? settings : m_menu;
        const QString key = QString::fromStdString(column.key);
        QAction *action = menu->addAction(column.key == "star" ? tr("★ Star") : QString::fromStdString(column.head));
        action->setToolTip(QString::fromStdString(column.help));
        action->setCheckable(true);
        action->setChecked(!m_table->isColumnHidden(int(i)));
        action->setEnabled(column.key != "name"); // a row must be called something
        connect(action, &QAction::toggled, this, [this, key](bool on) { show(key, on); });
    }
    if (settings)
        m_menu->addMenu(settings);
    m_menu->addSeparator();
    connect(m_menu->addAction(tr("The usual columns")), &QAction::triggered, this, &RunColumns::reset);
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
    const int column = core::runColumnAt(key.toStdString());
    if (column < 0 || m_table->isColumnHidden(column) != on)
        return;
    m_table->setColumnHidden(column, !on);
    if (on) {
        QHeaderView *head = m_table->horizontalHeader();
        head->moveSection(head->visualIndex(column), int(shown().size()) - 1);
        fitColumn(m_table, column, 32, 240);
    }
    Q_EMIT changed();
}

void RunColumns::reset() {
    m_sized = false;
    apply(usual());
    fit();
    Q_EMIT changed();
}

void RunColumns::apply(const QStringList &keys) {
    QHeaderView *head = m_table->horizontalHeader();
    for (int column = 0; column < int(core::runColumns().size()); ++column)
        m_table->setColumnHidden(column, !keys.contains(keyAt(column)));
    int place = 0;
    for (const QString &key : keys)
        if (const int column = core::runColumnAt(key.toStdString()); column >= 0)
            head->moveSection(head->visualIndex(column), place++);
    const int count = head->visualIndex(core::RunListModel::countColumn());
    head->moveSection(count, head->visualIndex(core::runColumn("name")) + 1);
}

void RunColumns::fit() {
    if (m_sized)
        return;
    const int star = core::runColumn("star");
    for (int column = 0; column < m_table->model()->columnCount(); ++column)
        if (!m_table->isColumnHidden(column))
            fitColumn(m_table, column, 32, column == star ? 32 : 240);
}

void RunColumns::save(QSettings &settings) const {
    const QStringList keys = shown();
    settings.setValue(QStringLiteral("runs/columns"), keys);
    QStringList widths;
    for (const QString &key : keys)
        widths.append(QString::number(m_table->columnWidth(core::runColumnAt(key.toStdString()))));
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
    for (qsizetype i = 0; i < keys.size() && i < widths.size(); ++i)
        if (const int column = core::runColumnAt(keys[i].toStdString()); column >= 0 && widths[i].toInt() >= 24) {
            m_table->setColumnWidth(column, widths[i].toInt());
            m_sized = true;
        }
    const QString sort = settings.value(QStringLiteral("runs/sort")).toString();
    const bool descending = sort.startsWith(QLatin1Char('-'));
    if (const int column = core::runColumnAt(sort.mid(descending ? 1 : 0).toStdString()); column >= 0)
        m_table->sortByColumn(column, descending ? Qt::DescendingOrder : Qt::AscendingOrder);
}

} // namespace lockstep::ui
