#include "app/ui/pages/runs_page.h"

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/tables.h"
#include "models/roles.h"

namespace lockstep::ui {

using core::RunListModel;

RunFilter::RunFilter(QObject *parent) : QSortFilterProxyModel(parent) {
    setSortRole(core::ValueRole);
}

void RunFilter::setText(const QString &text) {
    m_words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool RunFilter::filterAcceptsRow(int row, const QModelIndex &parent) const {
    return std::all_of(m_words.begin(), m_words.end(), [&](const QString &word) {
        for (int column = 0; column < sourceModel()->columnCount(parent); ++column)
            if (sourceModel()->index(row, column, parent).data().toString().contains(word, Qt::CaseInsensitive))
                return true;
        return false;
    });
}

bool RunFilter::lessThan(const QModelIndex &a, const QModelIndex &b) const {
    const QVariant left = a.data(core::ValueRole), right = b.data(core::ValueRole);
    if (left.isValid() != right.isValid())
        return !left.isValid(); // unknown sorts below everything
    return QSortFilterProxyModel::lessThan(a, b);
}

RunsPage::RunsPage(Theme &theme, Workspace &workspace, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_stack(new QStackedWidget(this)) {
    setObjectName(QStringLiteral("page"));
    m_filter.setSourceModel(&workspace.history());
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_stack);
    auto *empty = new EmptyState(theme, QStringLiteral("runs"), tr("No run yet"),
                                 tr("Every run is kept on disk with its configuration, its machine and all its frames, "
                                    "and can be reopened here."),
                                 tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &RunsPage::planWanted);
    m_stack->addWidget(empty);

    auto *body = new QWidget(this);
    body->setObjectName(QStringLiteral("pageBody"));
    auto *layout = new QVBoxLayout(body);
    layout->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    auto *card = new Card(tr("Runs"), body);
    layout->addWidget(card);
    m_line = new QLineEdit(card);
    m_line->setPlaceholderText(tr("Filter: words found in any column, for example “ddp gloo failed”  (Ctrl+F)"));
    m_line->setClearButtonEnabled(true);
    m_line->setAccessibleName(tr("Filter"));
    connect(m_line, &QLineEdit::textChanged, this, [this](const QString &text) {
        m_filter.setText(text);
        updateState();
    });
    auto *find = new QShortcut(QKeySequence::Find, this);
    connect(find, &QShortcut::activated, m_line, [this] { m_line->setFocus(); });
    m_count = makeLabel({}, "muted", card);
    m_open = new QPushButton(tr("Open"), card);
    m_open->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_O));
    m_open->setToolTip(tr("Opens the whole experiment the run belongs to (Enter, Ctrl+O)"));
    connect(m_open, &QPushButton::clicked, this, [this] { openCurrent(false); });
    m_alone = new QPushButton(tr("Open run alone"), card);
    m_alone->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O));
    m_alone->setToolTip(tr("Opens this run without the others of its experiment (Ctrl+Shift+O)"));
    connect(m_alone, &QPushButton::clicked, this, [this] { openCurrent(true); });
    auto *line = new QHBoxLayout;
    line->setSpacing(grid);
    line->addWidget(m_line, 1);
    line->addWidget(m_count);
    line->addWidget(m_alone);
    line->addWidget(m_open);
    card->body()->addLayout(line);
    m_table = makeTable(theme, card, RunListModel::Name);
    m_table->setModel(&m_filter);
    moveColumns(m_table, {RunListModel::Started, RunListModel::Name, RunListModel::State, RunListModel::TotalTraining,
                          RunListModel::Accuracy, RunListModel::FinalLoss, RunListModel::Recipe, RunListModel::Devices,
                          RunListModel::Backend, RunListModel::Epochs, RunListModel::RunTime});
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(RunListModel::Started, Qt::DescendingOrder);
    m_table->setAccessibleName(tr("Runs"));
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    auto *openAction = new QAction(tr("Open experiment"), m_table);
    openAction->setShortcut(QKeySequence(Qt::Key_Return));
    openAction->setShortcutContext(Qt::WidgetShortcut);
    connect(openAction, &QAction::triggered, this, [this] { openCurrent(false); });
    auto *aloneAction = new QAction(tr("Open run alone"), m_table);
    connect(aloneAction, &QAction::triggered, this, [this] { openCurrent(true); });
    m_table->addActions({openAction, aloneAction});
    connect(m_table, &QTableView::doubleClicked, this, [this] { openCurrent(false); });
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPage::updateState);
    card->body()->addWidget(m_table, 1);
    m_stack->addWidget(body);

    m_timer.setInterval(2000);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        if (isVisible())
            refresh();
    });
    m_timer.start();
    connect(&m_theme, &Theme::changed, this, &RunsPage::restyle);
    restyle();
    updateState();
}

void RunsPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    refresh();
}

void RunsPage::refresh() {
    if (const auto done = m_workspace.history().refresh(); !done)
        m_count->setText(QString::fromStdString(done.error().message()));
    updateState();
    if (!m_fitted && m_filter.rowCount() > 0) {
        fitColumns(m_table, 56, 240);
        m_table->setCurrentIndex(m_filter.index(0, RunListModel::Started));
        m_fitted = true;
    }
}

void RunsPage::updateState() {
    const int all = m_workspace.history().rowCount(), shown = m_filter.rowCount();
    m_stack->setCurrentIndex(all > 0 ? 1 : 0);
    m_count->setText(shown == all ? tr("%1 runs").arg(all) : tr("%1 of %2 runs").arg(shown).arg(all));
    const bool chosen = m_table->selectionModel()->hasSelection();
    m_open->setEnabled(chosen);
    m_alone->setEnabled(chosen);
}

void RunsPage::openCurrent(bool alone) {
    const QModelIndex current = m_filter.mapToSource(m_table->currentIndex());
    if (!current.isValid())
        return;
    const core::IndexedRun &run = m_workspace.history().runAt(current.row());
    const QString id = QString::fromStdString(run.run);
    if (alone || run.experiment.empty())
        Q_EMIT runWanted(id);
    else
        Q_EMIT experimentWanted(QString::fromStdString(run.experiment));
}

void RunsPage::restyle() {
    m_theme.setIcon(m_open, QStringLiteral("open"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui
