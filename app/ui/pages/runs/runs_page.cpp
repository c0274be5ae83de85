// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/runs/runs_actions.h"
#include "app/ui/pages/runs/runs_columns.h"
#include "app/ui/pages/runs/runs_details.h"
#include "app/ui/pages/runs/runs_diff.h"
#include "app/ui/pages/runs/runs_filter_line.h"
#include "app/ui/pages/runs/runs_list.h"
#include "app/ui/pages/runs/runs_notice.h"
#include "app/ui/pages/runs/runs_undo.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/page_stack.h"
#include "models/run_list_model.h"

namespace lockstep::ui {
namespace {
constexpr int historyPollMs = 2000, dutyFactor = 50; // a refresh never takes more than a fiftieth of its thread's time
constexpr int sideWidth = 44 * grid;
} // namespace

RunsPage::RunsPage(Theme &theme, core::RunListModel &list, core::RunHistory &history, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_list(list), m_history(history) {
    auto *empty =
        new EmptyState(theme, QStringLiteral("runs"), tr("No run yet"),
                       tr("Every run is kept here with its settings and measurements."), tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &RunsPage::planWanted);
    m_stack = new PageStack(*this, empty);
    m_stack->setBody(buildBody());
    m_undo = new RunsUndo(m_history, *m_notice, this);
    m_actions = new RunsActions(*m_runs, m_list, m_history, this);
    connectActions();
    connectHistory();
    addFindShortcuts();
    m_timer.setInterval(historyPollMs);
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
    m_notice = new RunsNotice(m_theme, card);
    card->body()->addWidget(m_notice);
    m_runs = new RunsList(m_theme, m_list, card);
    m_columnsButton->setMenu(m_runs->columns()->menu());
    connect(m_runs->columns(), &RunColumns::changed, this, &RunsPage::keep);
    connect(m_runs, &RunsList::chosenChanged, this, &RunsPage::showChosen);
    connect(m_runs, &RunsList::clearWanted, this, [this] {
        m_line->clear();
        m_line->setFocus();
    });
    for (auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
        connect(&m_list, signal, this, &RunsPage::updateState);
    connect(&m_list, &QAbstractItemModel::modelReset, this, &RunsPage::updateState);
    card->body()->addWidget(m_runs, 1);
    m_side = buildSide(m_split);
    m_split->setStretchFactor(0, 1);
    m_split->setSizes({800, sideWidth});
    return body;
}

QStackedWidget *RunsPage::buildSide(QWidget *parent) {
    auto *side = new QStackedWidget(parent);
    side->setMinimumWidth(sideWidth);
    m_details = new RunDetails(m_theme, side);
    connect(m_details, &RunDetails::changeWanted, &m_history, &core::RunHistory::change);
    m_diff = new RunsDiff(m_theme, side);
    connect(m_diff, &RunsDiff::closed, this, &RunsPage::closeComparison);
    side->addWidget(m_details);
    side->addWidget(m_diff);
    return side;
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
        table()->setFocus();
        m_runs->chooseAny();
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
    m_groupButton = button(tr("Group"), Qt::Key_G, tr("Repeats in one row: mean ± standard deviation (Alt+G, G)"));
    m_groupButton->setCheckable(true);
    connect(m_groupButton, &QPushButton::toggled, this, &RunsPage::setGrouped);
    m_columnsButton = button(tr("Columns"), Qt::Key_L, tr("Chooses what the table shows (Alt+L)"));
    m_compareButton = button(tr("Compare"), Qt::Key_D,
                             tr("Differences between the two chosen runs (Alt+D, D); choose the second one with Ctrl"));
    connect(m_compareButton, &QPushButton::clicked, this, &RunsPage::compare);
    m_open = new QPushButton(tr("Open"), &card);
    m_open->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_O));
    m_open->setToolTip(tr("Opens the run's experiment (Enter, Ctrl+O); the run alone: Ctrl+Shift+O"));
    for (QWidget *tool : std::initializer_list<QWidget *>{m_groupButton, m_columnsButton, m_compareButton, m_open})
        card.addTool(tool);
}

void RunsPage::connectActions() {
    connect(m_open, &QPushButton::clicked, m_actions, &RunsActions::open);
    connect(m_details, &RunDetails::starWanted, m_actions, &RunsActions::star);
    connect(m_details, &RunDetails::duplicateWanted, m_actions, &RunsActions::duplicate);
    connect(m_actions, &RunsActions::experimentWanted, this, &RunsPage::experimentWanted);
    connect(m_actions, &RunsActions::runWanted, this, &RunsPage::runWanted);
    connect(m_actions, &RunsActions::duplicateWanted, this, &RunsPage::duplicateWanted);
    connect(m_actions, &RunsActions::compareWanted, this, &RunsPage::compare);
    connect(m_actions, &RunsActions::tagsWanted, this, [this] {
        m_side->setCurrentWidget(m_details);
        m_details->tagsLine()->setFocus();
        m_details->tagsLine()->selectAll();
    });
    connect(m_actions, &RunsActions::noteWanted, this, [this] {
        m_side->setCurrentWidget(m_details);
        m_details->note()->setFocus();
    });
    connect(m_actions, &RunsActions::groupWanted, m_groupButton, &QPushButton::toggle);
    connect(m_actions, &RunsActions::aboutToDelete, this, [this] {
        m_details->flush();
        if (!m_diff->isEmpty())
            closeComparison();
    });
    connect(m_actions, &RunsActions::undoWanted, m_undo, &RunsUndo::undo);
    connect(m_actions, &RunsActions::redoWanted, m_undo, &RunsUndo::redo);
    connect(m_actions, &RunsActions::refused, this, [this](const QString &sentence) { m_notice->say(sentence); });
}

void RunsPage::connectHistory() {
    connect(&m_history, &core::RunHistory::listed, this, [this] {
        m_refreshed = m_refreshed || !m_list.runs().empty();
        if (!m_line->mistake().isEmpty())
            m_line->read(); // a column that was missing may be there now
        updateState();
        m_runs->fitFirst();
    });
    connect(&m_history, &core::RunHistory::progressed, this, [this](int done, int all) {
        m_reading = tr("reading %L1 of %L2…").arg(done).arg(all);
        updateState();
    });
    connect(&m_history, &core::RunHistory::refreshed, this, [this](int tookMs) {
        m_refreshed = true;
        m_reading.clear();
        m_timer.setInterval(std::max(historyPollMs, dutyFactor * tookMs));
        updateState();
    });
    connect(&m_history, &core::RunHistory::trashed, m_runs, &RunsList::chooseAny);
    connect(&m_history, &core::RunHistory::restored, this, [this](const core::TrashedRuns &batch) {
        m_runs->choose(batch.runs);
        updateState();
    });
}

void RunsPage::addFindShortcuts() {
    for (const QKeySequence &keys : {QKeySequence(Qt::Key_Slash), QKeySequence(QKeySequence::Find)}) {
        auto *find = new QShortcut(keys, this);
        find->setContext(Qt::WidgetWithChildrenShortcut);
        connect(find, &QShortcut::activated, this, [this] {
            m_line->setFocus();
            m_line->selectAll();
        });
    }
}

QTableView *RunsPage::table() const {
    return m_runs->table();
}

RunColumns *RunsPage::columns() const {
    return m_runs->columns();
}

std::vector<const core::IndexedRun *> RunsPage::chosen() const {
    return m_runs->chosen();
}

void RunsPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    refresh();
}

void RunsPage::refresh() {
    m_history.refresh();
}

void RunsPage::showChosen() {
    const std::vector<const core::IndexedRun *> runs = chosen();
    m_details->show(runs);
    m_compareButton->setEnabled(runs.size() == 2);
    m_open->setEnabled(!runs.empty());
}

void RunsPage::updateState() {
    const int all = int(m_list.runs().size()), shown = m_list.matched();
    m_stack->showBody(all > 0 || !m_refreshed);
    m_runs->showNoneMatches(shown == 0 && all > 0);
    m_count->setText(!m_reading.isEmpty() ? m_reading
                     : shown == all       ? tr("%L1 runs").arg(all)
                                          : tr("%L1 of %L2 runs").arg(shown).arg(all));
}

void RunsPage::compare() {
    const std::vector<const core::IndexedRun *> runs = chosen();
    if (runs.size() != 2)
        return m_notice->say(tr("Choose two runs to compare: the second one with Ctrl held down."));
    // The earlier run is A, the reference.
    const bool inOrder = runs[0]->startWallUs <= runs[1]->startWallUs;
    m_diff->compare(QString::fromStdString(runs[inOrder ? 0 : 1]->run),
                    QString::fromStdString(runs[inOrder ? 1 : 0]->run));
    if (m_side->currentWidget() != m_diff)
        m_sizesBefore = m_split->sizes();
    m_side->setCurrentWidget(m_diff);
    m_split->setSizes({width() / 2, width() / 2});
}

void RunsPage::closeComparison() {
    m_side->setCurrentWidget(m_details);
    m_diff->clear();
    m_split->setSizes(m_sizesBefore);
    table()->setFocus();
}

void RunsPage::setGrouped(bool grouped) {
    m_runs->setGrouped(grouped);
    m_groupButton->setChecked(grouped);
    keep();
}

void RunsPage::keepIn(const QString &file) {
    const QSettings settings(file, QSettings::IniFormat);
    columns()->restore(settings);
    m_split->restoreState(settings.value(QStringLiteral("runs/split")).toByteArray());
    m_groupButton->setChecked(settings.value(QStringLiteral("runs/grouped"), false).toBool());
    m_settings = file;
}

void RunsPage::keep() const {
    if (m_settings.isEmpty())
        return;
    QSettings settings(m_settings, QSettings::IniFormat);
    columns()->save(settings);
    if (m_side->currentWidget() == m_details) // a comparison has sizes of its own
        settings.setValue(QStringLiteral("runs/split"), m_split->saveState());
    settings.setValue(QStringLiteral("runs/grouped"), m_list.grouped());
}

void RunsPage::resetLayout() {
    columns()->reset();
    m_groupButton->setChecked(false);
    m_split->setSizes({std::max(1, width() - sideWidth), sideWidth});
    m_sizesBefore = m_split->sizes();
    keep();
}

void RunsPage::restyle() {
    const QColor ink = m_theme.palette().textSecondary;
    for (const auto &[button, icon] : {std::pair(m_open, "open"),
                                       {m_groupButton, "group"},
                                       {m_columnsButton, "columns"},
                                       {m_compareButton, "compare"}})
        m_theme.setIcon(button, QString::fromLatin1(icon), ink);
}

} // namespace lockstep::ui

#include "moc_runs_page.cpp"
