// SPDX-License-Identifier: MIT
#include "app/ui/shell/console_drawer.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QShortcut>
#include <QTableView>
#include <QToolButton>

#include <algorithm>
#include <utility>

#include "app/ui/shell/run_lines_delegate.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/name_lines.h"
#include "app/ui/widgets/tables.h"
#include "models/roles.h"

namespace lockstep::ui {
namespace {
constexpr int headHeight = 4 * grid, openHeight = 30 * grid;
constexpr int fittingMs = 100; ///< a fit measures every run's name: runs that come in together share one
constexpr int leastRuns = 110, mostRuns = 300; ///< px of the column with the runs' names
constexpr int mostAlertRuns = 180;             ///< likewise of the alerts, which have two lines
constexpr int alertRow = 5 * grid;             ///< px

int levelNumber(const QString &level) {
    static const QStringList levels = {"debug", "info", "warning", "error"};
    return int(levels.indexOf(level));
}
} // namespace

void ConsoleFilter::setSource(const QString &source) {
    m_source = source;
    invalidateFilter();
}
void ConsoleFilter::setLeastLevel(int level) {
    m_level = level;
    invalidateFilter();
}
void ConsoleFilter::setText(const QString &text) {
    m_text = text;
    invalidateFilter();
}

bool ConsoleFilter::filterAcceptsRow(int row, const QModelIndex &parent) const {
    using core::ConsoleModel;
    const auto cell = [&](int column, int role = Qt::DisplayRole) {
        return sourceModel()->index(row, column, parent).data(role).toString();
    };
    if (m_level > 0 && levelNumber(cell(ConsoleModel::Level, core::LevelRole)) < m_level)
        return false;
    if (!m_source.isEmpty() && cell(ConsoleModel::Source) != m_source)
        return false;
    return m_text.isEmpty() || cell(ConsoleModel::Message).contains(m_text, Qt::CaseInsensitive) ||
           cell(ConsoleModel::Run).contains(m_text, Qt::CaseInsensitive) ||
           cell(ConsoleModel::Run, core::ValueRole).contains(m_text, Qt::CaseInsensitive);
}

ConsoleDrawer::ConsoleDrawer(Theme &theme, Workspace &workspace, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_workspace(workspace) {
    setObjectName(QStringLiteral("drawer"));
    m_filter.setSourceModel(&workspace.console());
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(grid, 0, grid, 0);
    layout->setSpacing(0);
    auto *head = new QHBoxLayout;
    head->setSpacing(grid);
    m_head = new QToolButton(this);
    m_head->setObjectName(QStringLiteral("drawerHead"));
    m_head->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_head->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_J));
    m_head->setProperty("verb", tr("Show the console"));
    m_head->setToolTip(tr("What every rank and the agent wrote (Ctrl+J)"));
    connect(m_head, &QToolButton::clicked, this, [this] { setUnfolded(!m_unfolded); });
    m_alertsHead = new QToolButton(this);
    m_alertsHead->setObjectName(QStringLiteral("drawerHead"));
    m_alertsHead->setProperty("verb", tr("Show the alerts"));
    m_alertsHead->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_alertsHead->setCheckable(true);
    m_alertsHead->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_J));
    m_alertsHead->setToolTip(tr("What went wrong (Ctrl+Shift+J)"));
    connect(m_alertsHead, &QToolButton::toggled, this, &ConsoleDrawer::showAlerts);
    head->addWidget(m_head);
    head->addWidget(m_alertsHead);
    head->addStretch(1);
    m_tools = buildTools();
    head->addWidget(m_tools);
    m_alertTools = buildAlertTools();
    head->addWidget(m_alertTools);
    auto *headBox = new QWidget(this);
    headBox->setLayout(head);
    head->setContentsMargins(0, 0, 0, 0);
    headBox->setMinimumHeight(headHeight);
    layout->addWidget(headBox);

    m_table = makeTable(theme, this);
    m_table->setModel(&m_filter);
    m_table->setItemDelegate(new RunLinesDelegate(theme, core::ConsoleModel::Run, m_table));
    m_table->verticalHeader()->setDefaultSectionSize(20);
    m_table->setFont(Theme::mono(Type::Small));
    m_table->horizontalHeader()->setStretchLastSection(true);
    for (const auto &[column, width] : {std::pair(0, 110), {1, leastRuns}, {2, 80}, {3, 72}})
        m_table->setColumnWidth(column, width);
    m_alerts = makeTable(theme, this);
    m_alerts->setModel(&workspace.alerts());
    m_alerts->setItemDelegate(new RunLinesDelegate(theme, core::AlertModel::Run, m_alerts));
    m_alerts->verticalHeader()->setDefaultSectionSize(alertRow);
    for (const auto &[column, width] : {std::pair(0, 110), {1, 110}, {2, 80}})
        m_alerts->setColumnWidth(column, width);
    for (const int column : {core::AlertModel::Message, core::AlertModel::WhatToDo})
        m_alerts->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Stretch);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_alerts, 1);
    connect(m_table->verticalScrollBar(), &QScrollBar::valueChanged, this,
            [this](int value) { m_atEnd = value >= m_table->verticalScrollBar()->maximum() - 1; });
    const auto stayAtEnd = [this] {
        if (m_unfolded && m_atEnd)
            m_table->scrollToBottom();
    };
    connect(&m_filter, &QAbstractItemModel::rowsInserted, this, stayAtEnd);
    connect(&m_filter, &QAbstractItemModel::modelReset, this, stayAtEnd);
    for (QTableView *table : {m_table, m_alerts}) {
        connect(table, &QTableView::clicked, this, &ConsoleDrawer::chooseLine);
        connect(table, &QTableView::activated, this, &ConsoleDrawer::chooseLine);
    }
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &ConsoleDrawer::countHits);
    connect(&m_filter, &QAbstractItemModel::layoutChanged, this, &ConsoleDrawer::countHits);
    connect(&m_filter, &QAbstractItemModel::modelReset, this, &ConsoleDrawer::countHits);
    connect(&workspace, &Workspace::opened, this, &ConsoleDrawer::refreshSources);
    connect(&workspace.runs(), &core::RunSet::reset, this, &ConsoleDrawer::fitRuns);
    m_fitting.setSingleShot(true);
    m_fitting.setInterval(fittingMs);
    connect(&m_fitting, &QTimer::timeout, this, &ConsoleDrawer::fitRuns);
    connect(&workspace.runs(), &core::RunSet::changed, this, [this](int, core::RunStore::Changes what) {
        if (what & core::RunStore::State)
            refreshSources();
        if (what & core::RunStore::Record)
            fitRunsSoon();
    });
    for (QAbstractItemModel *model : {static_cast<QAbstractItemModel *>(&workspace.console()),
                                      static_cast<QAbstractItemModel *>(&workspace.alerts())}) {
        connect(model, &QAbstractItemModel::rowsInserted, this, &ConsoleDrawer::refreshHead);
        connect(model, &QAbstractItemModel::modelReset, this, &ConsoleDrawer::refreshHead);
    }
    connect(&m_theme, &Theme::changed, this, &ConsoleDrawer::refreshHead);
    showAlerts(false);
    setUnfolded(false);
}

QWidget *ConsoleDrawer::buildTools() {
    auto *tools = new QWidget(this);
    auto *layout = new QHBoxLayout(tools);
    layout->setContentsMargins(0, 2, 0, 2);
    layout->setSpacing(grid);
    m_source = new QComboBox(tools);
    m_source->setAccessibleName(tr("Rank"));
    m_source->addItem(tr("All ranks"), QString());
    m_source->setToolTip(tr("Lines of one rank or of the agent"));
    connect(m_source, &QComboBox::currentIndexChanged, this,
            [this] { m_filter.setSource(m_source->currentData().toString()); });
    m_level = new QComboBox(tools);
    m_level->setAccessibleName(tr("Minimum level"));
    m_level->addItems({tr("Debug and up"), tr("Info and up"), tr("Warnings"), tr("Errors")});
    connect(m_level, &QComboBox::currentIndexChanged, &m_filter, &ConsoleFilter::setLeastLevel);
    m_text = new QLineEdit(tools);
    m_text->setPlaceholderText(tr("Filter lines"));
    m_text->setClearButtonEnabled(true);
    m_text->setFixedWidth(220);
    connect(m_text, &QLineEdit::textChanged, &m_filter, &ConsoleFilter::setText);
    for (QWidget *widget :
         {static_cast<QWidget *>(m_source), static_cast<QWidget *>(m_level), static_cast<QWidget *>(m_text)}) {
        widget->setFixedHeight(28);
        layout->addWidget(widget);
    }
    layout->addWidget(buildSearch());
    return tools;
}

QWidget *ConsoleDrawer::buildAlertTools() {
    auto *tools = new QWidget(this);
    auto *layout = new QHBoxLayout(tools);
    layout->setContentsMargins(0, 2, 0, 2);
    layout->setSpacing(2 * grid);
    m_notify = new QCheckBox(tr("Notify on the desktop"), tools);
    m_notify->setChecked(true);
    m_notify->setToolTip(tr("New alerts as notifications of the desktop, while this window is in the background"));
    m_seen = new QPushButton(tr("Mark all as seen"), tools);
    m_seen->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A));
    m_seen->setToolTip(tr("They stay in the list, in grey, and are no longer counted (Ctrl+Shift+A)"));
    m_seen->setFixedHeight(28);
    connect(m_seen, &QPushButton::clicked, this, [this] { m_workspace.alertsSeen().acknowledgeAll(); });
    layout->addWidget(m_notify);
    layout->addWidget(m_seen);
    return tools;
}

QWidget *ConsoleDrawer::buildSearch() {
    auto *box = new QWidget(this);
    auto *layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(grid / 2);
    m_search = new QLineEdit(box);
    m_search->setPlaceholderText(tr("Search"));
    m_search->setToolTip(
        tr("Jumps to lines with these words and hides none (Ctrl+Shift+F); Return or F3: next, Shift+F3: previous"));
    m_search->setAccessibleName(tr("Search the console"));
    m_search->setClearButtonEnabled(true);
    m_search->setFixedWidth(160);
    m_searchNote = makeLabel({}, "muted", box);
    layout->addWidget(m_search);
    layout->addWidget(m_searchNote);
    const auto add = [&](const QString &icon, const QString &name, const QKeySequence &keys, int direction) {
        auto *button = new QToolButton(box);
        button->setObjectName(QStringLiteral("drawerHead"));
        button->setFixedSize(4 * grid, 4 * grid);
        button->setShortcut(keys);
        button->setAccessibleName(name);
        button->setToolTip(QStringLiteral("%1 (%2)").arg(name, keys.toString(QKeySequence::NativeText)));
        const auto draw = [this, button, icon] {
            button->setIcon(m_theme.icon(icon, m_theme.palette().textSecondary));
        };
        draw();
        connect(&m_theme, &Theme::changed, button, draw);
        connect(button, &QToolButton::clicked, this, [this, direction] { searchNext(direction); });
        layout->addWidget(button);
    };
    add(QStringLiteral("chevron-up"), tr("Search backwards"), QKeySequence(Qt::SHIFT | Qt::Key_F3), -1);
    add(QStringLiteral("chevron-down"), tr("Search forwards"), QKeySequence(Qt::Key_F3), 1);
    connect(m_search, &QLineEdit::returnPressed, this, [this] { searchNext(1); });
    connect(m_search, &QLineEdit::textChanged, this, [this] {
        countHits();
        const int row = m_table->currentIndex().isValid() ? m_table->currentIndex().row() : 0;
        if (!m_search->text().isEmpty() && !isHit(row))
            searchNext(1);
    });
    auto *find = new QShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F), this);
    connect(find, &QShortcut::activated, this, [this] {
        m_alertsHead->setChecked(false);
        setUnfolded(true);
        m_search->setFocus();
        m_search->selectAll();
    });
    return box;
}

bool ConsoleDrawer::isHit(int row) const {
    const QString text = m_filter.index(row, core::ConsoleModel::Message).data().toString();
    return !m_search->text().isEmpty() && text.contains(m_search->text(), Qt::CaseInsensitive);
}

void ConsoleDrawer::countHits() {
    if (m_search->text().isEmpty())
        return m_searchNote->clear();
    int hits = 0, place = 0;
    const int current = m_table->currentIndex().row();
    for (int row = 0; row < m_filter.rowCount(); ++row)
        if (isHit(row)) {
            ++hits;
            if (row == current)
                place = hits;
        }
    m_searchNote->setText(hits == 0   ? tr("no match")
                          : place > 0 ? tr("%1 of %2").arg(place).arg(hits)
                          : hits == 1 ? tr("1 match")
                                      : tr("%1 matches").arg(hits));
}

void ConsoleDrawer::searchNext(int direction) {
    const int rows = m_filter.rowCount();
    if (m_search->text().isEmpty() || rows == 0)
        return;
    const int from = m_table->currentIndex().isValid() ? m_table->currentIndex().row() : direction > 0 ? -1 : 0;
    for (int i = 1; i <= rows; ++i)
        if (const int row = ((from + direction * i) % rows + rows) % rows; isHit(row)) {
            goTo(row);
            chooseLine(m_filter.index(row, 0));
            break;
        }
    countHits();
}

void ConsoleDrawer::goTo(int row) {
    const QModelIndex index = m_filter.index(row, core::ConsoleModel::Time);
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
}

void ConsoleDrawer::chooseLine(const QModelIndex &index) {
    const QModelIndex time = index.siblingAtColumn(core::ConsoleModel::Time);
    if (const qint64 wallUs = time.data(core::ValueRole).toLongLong(); wallUs > 0)
        Q_EMIT timeChosen(time.data(core::RunIdRole).toString(), wallUs);
}

void ConsoleDrawer::showTime(const QString &runId, qint64 wallUs) {
    const core::ConsoleModel &console = m_workspace.console();
    int best = -1;
    qint64 nearest = 0;
    for (int row = 0; row < console.rowCount(); ++row) {
        if (console.runAt(row) != runId)
            continue;
        const qint64 away = qAbs(console.wallUsAt(row) - wallUs);
        if (best >= 0 && away >= nearest)
            continue;
        const int shown = m_filter.mapFromSource(console.index(row, 0)).row();
        if (shown < 0)
            continue;
        best = shown;
        nearest = away;
    }
    if (best >= 0)
        goTo(best);
}

void ConsoleDrawer::setUnfolded(bool unfolded) {
    m_unfolded = unfolded;
    m_tools->setVisible(unfolded && !m_alertsHead->isChecked());
    m_alertTools->setVisible(unfolded && m_alertsHead->isChecked());
    m_table->setVisible(unfolded && !m_alertsHead->isChecked());
    m_alerts->setVisible(unfolded && m_alertsHead->isChecked());
    setFixedHeight(unfolded ? openHeight : headHeight + 1);
    refreshHead();
    fitRuns();
    if (unfolded && m_atEnd)
        m_table->scrollToBottom();
}

void ConsoleDrawer::showAlerts(bool alerts) {
    if (alerts && !m_unfolded)
        m_unfolded = true;
    setUnfolded(m_unfolded);
    Q_UNUSED(alerts);
}

void ConsoleDrawer::showAlertsOf(const QString &runId) {
    m_alertsHead->setChecked(true);
    setUnfolded(true);
    const core::AlertModel &alerts = m_workspace.alerts();
    for (int row = alerts.rowCount() - 1; row >= 0; --row)
        if (alerts.rowAt(row).runId == runId) {
            m_alerts->setCurrentIndex(alerts.index(row, core::AlertModel::Message));
            break;
        }
}

void ConsoleDrawer::refreshHead() {
    const Palette &p = m_theme.palette();
    m_theme.setIcon(m_head, m_unfolded ? QStringLiteral("chevron-down") : QStringLiteral("chevron-up"),
                    p.textSecondary);
    const int lines = m_workspace.console().rowCount(), alerts = m_workspace.alerts().rowCount();
    setWords(m_head, lines == 0   ? tr("Console")
                     : lines == 1 ? tr("Console · 1 line")
                                  : tr("Console · %L1 lines").arg(lines));
    const int unseen = m_workspace.alerts().unseen();
    setWords(m_alertsHead, alerts == 0                     ? tr("No alerts")
                           : unseen > 0 && unseen < alerts ? tr("%1 new of %2 alerts").arg(unseen).arg(alerts)
                           : alerts == 1                   ? tr("1 alert")
                                                           : tr("%1 alerts").arg(alerts));
    m_theme.setIcon(m_alertsHead, QStringLiteral("bell"), unseen > 0 ? p.wrong : p.textMuted);
    m_seen->setEnabled(unseen > 0);
}

/// The runs' columns are as wide as their names, unless a person made them wider or narrower since.
void ConsoleDrawer::fitRuns() {
    if (!m_unfolded)
        return;
    const core::RunSet &runs = m_workspace.runs();
    QStringList names;
    for (int run = 0; run < runs.count(); ++run)
        names.append(paintedName(runs.label(run)));
    const auto fit = [&names](QTableView *table, int column, int most, int &last) {
        const QFontMetrics metrics(table->font());
        int width = leastRuns;
        for (const QString &name : names)
            width = std::max(width, metrics.horizontalAdvance(name) + 2 * grid + 2);
        width = std::min(width, most);
        if (std::exchange(last, width) != width)
            table->setColumnWidth(column, width);
    };
    fit(m_table, core::ConsoleModel::Run, mostRuns, m_runsWidth);
    fit(m_alerts, core::AlertModel::Run, mostAlertRuns, m_alertRunsWidth);
}

void ConsoleDrawer::fitRunsSoon() {
    if (m_unfolded && !m_fitting.isActive())
        m_fitting.start();
}

void ConsoleDrawer::refreshSources() {
    std::set<int> ranks; // those there are: a log may speak of rank 1,000,000 alone
    for (const core::RunStore *store : m_workspace.runs().stores())
        for (const auto &[rank, info] : store->ranks().all())
            ranks.insert(rank);
    if (ranks == m_listedRanks && m_source->count() > 0)
        return;
    m_listedRanks = ranks;
    const QString chosen = m_source->currentData().toString();
    m_source->clear();
    m_source->addItem(tr("All ranks"), QString());
    for (const int rank : ranks)
        m_source->addItem(tr("Rank %1").arg(rank), QStringLiteral("rank %1").arg(rank));
    m_source->addItem(tr("Agent"), QStringLiteral("agent"));
    m_source->setCurrentIndex(std::max(0, m_source->findData(chosen)));
}

} // namespace lockstep::ui

#include "moc_console_drawer.cpp"
