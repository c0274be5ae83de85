// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_page.h"

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/runs/runs_columns.h"
#include "app/ui/pages/runs/runs_details.h"
#include "app/ui/pages/runs/runs_diff.h"
#include "app/ui/pages/runs/runs_filter_line.h"
#include "app/ui/pages/runs/runs_table.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/tables.h"
#include "models/run_list_model.h"

namespace lockstep::ui {

using core::RunListModel;

namespace {
enum Side { DetailsSide, DiffSide };
constexpr int lookMs = 2000, dutyFactor = 50; // a look never takes more than a fiftieth of its thread's time
} // namespace

RunsPage::RunsPage(Theme &theme, Workspace &workspace, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_list(workspace.history()),
      m_history(workspace.runHistory()), m_stack(new QStackedWidget(this)) {
    setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_stack);
    auto *empty = new EmptyState(theme, QStringLiteral("runs"), tr("No run yet"),
                                 tr("Every run is kept on disk with its configuration, its machine and all its frames, "
                                    "and can be reopened here."),
                                 tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &RunsPage::planWanted);
    m_stack->addWidget(empty);
    m_stack->addWidget(buildBody());
    buildActions();
    connectHistory();
    m_timer.setInterval(lookMs);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        if (isVisible())
            refresh();
    });
    m_timer.start();
    connect(&m_theme, &Theme::changed, this, &RunsPage::restyle);
    restyle();
    showChosen();
}

RunsPage::~RunsPage() {
    m_details->flush();
    keep();
    m_list.disconnect(this); // it outlives the page
}

QWidget *RunsPage::buildBody() {
    auto *body = new QWidget(this);
    body->setObjectName(QStringLiteral("pageBody"));
    auto *layout = new QVBoxLayout(body);
    layout->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    m_split = new QSplitter(Qt::Horizontal, body);
    m_split->setHandleWidth(2 * grid);
    m_split->setChildrenCollapsible(false);
    layout->addWidget(m_split);
    auto *card = new Card(tr("Runs"), m_split);
    buildTools(*card);
    card->body()->addWidget(buildLine(card));
    m_mistake = makeLabel({}, "wrong", card);
    m_mistake->setWordWrap(true);
    m_mistake->hide();
    card->body()->addWidget(m_mistake);
    card->body()->addWidget(buildNotice(card));
    buildTable(card);
    m_tableStack = new QStackedWidget(card);
    m_tableStack->addWidget(m_table);
    auto *none = new EmptyState(m_theme, QStringLiteral("search"), tr("No run matches"),
                                tr("The filter above accepts none of the runs."), tr("Clear the filter"), card);
    auto *clear = none->findChild<QPushButton *>();
    clear->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Backspace));
    clear->setToolTip(tr("Shows all runs again (Ctrl+Backspace)"));
    connect(none, &EmptyState::clicked, this, [this] {
        m_line->clear();
        m_line->setFocus();
    });
    m_tableStack->addWidget(none);
    card->body()->addWidget(m_tableStack, 1);

    m_side = new QStackedWidget(m_split);
    m_side->setMinimumWidth(44 * grid);
    m_details = new RunDetails(m_theme, m_side);
    connect(m_details, &RunDetails::changeWanted, &m_history, &core::RunHistory::change);
    connect(m_details, &RunDetails::starWanted, this, &RunsPage::star);
    connect(m_details, &RunDetails::duplicateWanted, this, &RunsPage::duplicate);
    m_diff = new RunsDiff(m_theme, m_side);
    connect(m_diff, &RunsDiff::closed, this, [this] {
        m_side->setCurrentIndex(DetailsSide);
        m_diff->clear();
        m_split->setSizes(m_sizesBefore);
        m_table->setFocus();
    });
    m_side->addWidget(m_details);
    m_side->addWidget(m_diff);
    m_split->setStretchFactor(0, 1);
    m_split->setSizes({800, 44 * grid});
    return body;
}

QWidget *RunsPage::buildLine(QWidget *parent) {
    auto *box = new QWidget(parent);
    auto *line = new QHBoxLayout(box);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(grid);
    m_line = new RunFilterLine([this]() -> const std::vector<core::IndexedRun> & { return m_list.runs(); }, box);
    connect(m_line, &RunFilterLine::filterChanged, this, [this](const core::RunFilter &filter) {
        m_list.setFilter(filter);
        updateState();
    });
    connect(m_line, &RunFilterLine::mistakeChanged, this, [this](const QString &sentence) {
        m_mistake->setText(sentence);
        m_mistake->setVisible(!sentence.isEmpty());
    });
    connect(m_line, &RunFilterLine::left, this, [this] {
        m_table->setFocus();
        chooseAny();
    });
    m_count = makeLabel({}, "muted", box);
    line->addWidget(m_line, 1);
    line->addWidget(m_count);
    return box;
}

void RunsPage::buildTools(Card &card) {
    const auto button = [&card](const QString &words, Qt::Key key, const QString &hint) {
        auto *out = new QPushButton(words, &card);
        out->setShortcut(QKeySequence(Qt::ALT | key));
        out->setToolTip(hint);
        return out;
    };
    m_groupButton = button(tr("Group"), Qt::Key_G,
                           tr("Repeats of the same configuration on the same machine in one row: "
                              "mean ± standard deviation of the done ones (Alt+G, G)"));
    m_groupButton->setCheckable(true);
    connect(m_groupButton, &QPushButton::toggled, this, &RunsPage::setGrouped);
    m_columnsButton = button(tr("Columns"), Qt::Key_L, tr("Chooses what the table shows (Alt+L)"));
    m_compareButton = button(tr("Compare"), Qt::Key_D,
                             tr("What the two chosen runs differ in (Alt+D, D); choose the "
                                "second one with Ctrl"));
    connect(m_compareButton, &QPushButton::clicked, this, &RunsPage::compare);
    m_open = new QPushButton(tr("Open"), &card);
    m_open->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_O));
    m_open->setToolTip(tr("Opens the whole experiment the run belongs to (Enter, Ctrl+O); without the others of it: "
                          "Ctrl+Shift+O"));
    connect(m_open, &QPushButton::clicked, this, &RunsPage::open);
    for (QWidget *tool : std::initializer_list<QWidget *>{m_groupButton, m_columnsButton, m_compareButton, m_open})
        card.addTool(tool);
}

QWidget *RunsPage::buildNotice(QWidget *parent) {
    auto *frame = new QFrame(parent);
    frame->setObjectName(QStringLiteral("notice"));
    auto *line = new QHBoxLayout(frame);
    line->setContentsMargins(grid, grid / 2, grid / 2, grid / 2);
    m_noticeText = makeLabel({}, "secondary", frame);
    m_noticeText->setWordWrap(true);
    m_undoButton = new QPushButton(tr("Undo"), frame);
    m_undoButton->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Z));
    m_undoButton->setToolTip(tr("Takes it back (Ctrl+Z, Alt+Z)"));
    connect(m_undoButton, &QPushButton::clicked, this, [this] { m_offer == Offer::Redo ? redo() : undo(); });
    auto *close = new QPushButton(tr("Good"), frame);
    close->setShortcut(QKeySequence(Qt::ALT | Qt::Key_X));
    close->setToolTip(tr("Closes this line (Alt+X)"));
    connect(close, &QPushButton::clicked, frame, &QWidget::hide);
    line->addWidget(m_noticeText, 1);
    line->addWidget(m_undoButton);
    line->addWidget(close);
    frame->hide();
    m_notice = frame;
    return frame;
}

void RunsPage::buildTable(QWidget *parent) {
    const int name = core::runColumn("name");
    m_table = makeTable(m_theme, parent, name);
    auto *delegate = new RunsDelegate(m_theme, name, m_table);
    m_table->setItemDelegate(delegate);
    m_table->setModel(&m_list);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_columns = new RunColumns(m_table);
    m_columnsButton->setMenu(m_columns->menu());
    m_table->sortByColumn(core::runColumn("started"), Qt::DescendingOrder);
    m_table->setSortingEnabled(true);
    m_table->setColumnHidden(RunListModel::countColumn(), true);
    m_table->setAccessibleName(tr("Runs"));
    new GroupToggle(m_table, [this](int row, bool open) {
        m_list.setOpen(row, open);
        m_columns->fit();
    });
    connect(m_table, &QTableView::doubleClicked, this, &RunsPage::open);
    connect(m_columns, &RunColumns::changed, this, &RunsPage::keep);
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPage::showChosen);
    connect(&m_list, &RunListModel::renameAsked, this, [this](const QString &run, const QString &given) {
        m_history.change({run.toStdString()},
                         [text = given.toStdString()](core::RunNotes &notes) { notes.name = text; });
    });
    connect(&m_list, &QAbstractItemModel::modelAboutToBeReset, this, &RunsPage::rememberChoice);
    connect(&m_list, &QAbstractItemModel::modelReset, this, &RunsPage::restoreChoice);
    for (auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
        connect(&m_list, signal, this, &RunsPage::updateState);
    connect(&m_list, &QAbstractItemModel::dataChanged, this, &RunsPage::showChosen);
}

void RunsPage::connectHistory() {
    connect(&m_history, &core::RunHistory::listed, this, [this] {
        m_looked = m_looked || !m_list.runs().empty();
        if (!m_line->mistake().isEmpty())
            m_line->read(); // a column that was missing may be there now
        updateState();
        if (!m_fitted && m_list.rowCount() > 0) {
            m_columns->fit();
            if (!m_table->currentIndex().isValid())
                m_table->setCurrentIndex(m_list.index(0, core::runColumn("name")));
            m_fitted = true;
        }
    });
    connect(&m_history, &core::RunHistory::progressed, this, [this](int done, int all) {
        m_reading = tr("reading %L1 of %L2…").arg(done).arg(all);
        updateState();
    });
    connect(&m_history, &core::RunHistory::looked, this, [this](int tookMs) {
        m_looked = true;
        m_reading.clear();
        m_timer.setInterval(std::max(lookMs, dutyFactor * tookMs));
        updateState();
    });
    connect(&m_history, &core::RunHistory::noted, this, [this](const core::NotesBefore &before) {
        takeBack({tr("The change is taken back."), [this, before] { m_history.revert(before); }}, false);
    });
    connect(&m_history, &core::RunHistory::reverted, this, [this](const core::NotesBefore &before) {
        const bool back = m_reverts.empty() || m_reverts.front();
        if (!m_reverts.empty())
            m_reverts.pop_front();
        if (back)
            m_redo.push_back({tr("The change is made again."), [this, before] { m_history.revert(before); }});
        else
            takeBack({tr("The change is taken back."), [this, before] { m_history.revert(before); }}, true);
    });
    connect(&m_history, &core::RunHistory::trashed, this, [this](const core::TrashedRuns &batch) {
        takeBack({{}, [this, id = batch.id] { m_history.restore(id); }}, m_redoing > 0);
        const int count = int(batch.runs.size());
        notice((count == 1 ? tr("1 run deleted.") : tr("%1 runs deleted.").arg(count)) + QLatin1Char(' ') +
                   tr("The trash keeps what is deleted for %1 days.").arg(core::trashKept.count()),
               Offer::Undo);
        chooseAny();
    });
    connect(&m_history, &core::RunHistory::restored, this, [this](const core::TrashedRuns &batch) {
        m_redo.push_back({{}, [this, runs = batch.runs] { m_history.trash(runs); }});
        const int count = int(batch.runs.size());
        notice(count == 1 ? tr("1 run is back.") : tr("%1 runs are back.").arg(count), Offer::Redo);
        m_kept = batch.runs;
        m_current = batch.runs.front();
        restoreChoice();
    });
    connect(&m_history, &core::RunHistory::emptied, this, [this](int runs) {
        notice(runs == 1 ? tr("1 run was removed for good.") : tr("%1 runs were removed for good.").arg(runs),
               Offer::None);
    });
    connect(&m_history, &core::RunHistory::failed, this, [this](const QString &sentence) {
        m_redoing = 0;
        m_reverts.clear();
        notice(sentence, Offer::None);
    });
}

void RunsPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    refresh();
}

void RunsPage::refresh() {
    m_history.refresh();
}

std::vector<const core::IndexedRun *> RunsPage::chosen() const {
    std::vector<int> rows;
    for (const QModelIndex &index : m_table->selectionModel()->selectedRows(core::runColumn("name")))
        rows.push_back(index.row());
    std::sort(rows.begin(), rows.end());
    std::vector<const core::IndexedRun *> out;
    for (const int row : rows)
        for (const core::IndexedRun *run : m_list.runsAt(row))
            if (std::find(out.begin(), out.end(), run) == out.end())
                out.push_back(run);
    return out;
}

void RunsPage::rememberChoice() {
    m_kept.clear();
    for (const QModelIndex &index : m_table->selectionModel()->selectedRows(core::runColumn("name")))
        m_kept.push_back(m_list.runAt(index.row()).run);
    const QModelIndex current = m_table->currentIndex();
    m_current = current.isValid() ? m_list.runAt(current.row()).run : std::string();
}

void RunsPage::restoreChoice() {
    QItemSelection selection;
    constexpr std::size_t most = 500; // looked up one by one
    for (std::size_t i = 0; i < std::min(most, m_kept.size()); ++i)
        if (const int row = m_list.rowOf(m_kept[i]); row >= 0)
            selection.select(m_list.index(row, 0), m_list.index(row, m_list.columnCount() - 1));
    const int row = std::max(0, m_list.rowOf(m_current));
    if (row < m_list.rowCount())
        m_table->selectionModel()->setCurrentIndex(m_list.index(row, core::runColumn("name")),
                                                   QItemSelectionModel::NoUpdate);
    m_table->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    updateState();
    showChosen();
}

void RunsPage::chooseAny() {
    if (m_table->selectionModel()->hasSelection() || m_list.rowCount() == 0)
        return;
    m_table->selectRow(std::clamp(m_table->currentIndex().row(), 0, m_list.rowCount() - 1));
}

void RunsPage::showChosen() {
    const std::vector<const core::IndexedRun *> runs = chosen();
    m_details->show(runs);
    m_compareButton->setEnabled(runs.size() == 2);
    m_open->setEnabled(!runs.empty());
}

void RunsPage::updateState() {
    const int all = int(m_list.runs().size()), shown = m_list.matched();
    m_stack->setCurrentIndex(all > 0 || !m_looked ? 1 : 0);
    m_tableStack->setCurrentIndex(shown == 0 && all > 0 ? 1 : 0);
    m_count->setText(!m_reading.isEmpty() ? m_reading
                     : shown == all       ? tr("%L1 runs").arg(all)
                                          : tr("%L1 of %L2 runs").arg(shown).arg(all));
}

void RunsPage::setGrouped(bool grouped) {
    m_list.setGrouped(grouped);
    m_groupButton->setChecked(grouped);
    m_table->setColumnHidden(RunListModel::countColumn(), !grouped);
    m_columns->fit();
    chooseAny();
    keep();
}

void RunsPage::notice(const QString &sentence, Offer offer) {
    m_offer = offer;
    m_noticeText->setText(sentence);
    setWords(m_undoButton, offer == Offer::Redo ? tr("Redo") : tr("Undo"));
    m_undoButton->setToolTip(offer == Offer::Redo ? tr("Makes it again (Ctrl+Shift+Z, Alt+Z)")
                                                  : tr("Takes it back (Ctrl+Z, Alt+Z)"));
    m_undoButton->setVisible(offer != Offer::None);
    m_notice->show();
}

void RunsPage::keepIn(const QString &file) {
    const QSettings settings(file, QSettings::IniFormat);
    m_columns->restore(settings);
    m_split->restoreState(settings.value(QStringLiteral("runs/split")).toByteArray());
    m_groupButton->setChecked(settings.value(QStringLiteral("runs/grouped"), false).toBool());
    m_settings = file;
}

void RunsPage::keep() const {
    if (m_settings.isEmpty())
        return;
    QSettings settings(m_settings, QSettings::IniFormat);
    m_columns->save(settings);
    if (m_side->currentWidget() == m_details) // a comparison has sizes of its own
        settings.setValue(QStringLiteral("runs/split"), m_split->saveState());
    settings.setValue(QStringLiteral("runs/grouped"), m_list.grouped());
}

void RunsPage::resetLayout() {
    m_columns->reset();
    m_groupButton->setChecked(false);
    m_split->setSizes({std::max(1, width() - 44 * grid), 44 * grid});
    m_sizesBefore = m_split->sizes();
    keep();
}

void RunsPage::restyle() {
    const QColor ink = m_theme.palette().textSecondary;
    for (const auto &[button, icon] : {std::pair(m_open, "open"),
                                       {m_groupButton, "group"},
                                       {m_columnsButton, "columns"},
                                       {m_compareButton, "compare"},
                                       {m_undoButton, "undo"}})
        m_theme.setIcon(button, QString::fromLatin1(icon), ink);
}

} // namespace lockstep::ui
