// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/live_page.h"

#include <QAction>
#include <QCheckBox>
#include <QFile>
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QShortcut>
#include <QSplitter>
#include <QToolButton>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/anatomy_card.h"
#include "app/ui/pages/live/devices_card.h"
#include "app/ui/pages/live/duration_card.h"
#include "app/ui/pages/live/live_cursor.h"
#include "app/ui/pages/live/live_setting.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/loss_card.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/pages/live/nodes_card.h"
#include "app/ui/pages/live/phases_card.h"
#include "app/ui/pages/live/stages_card.h"
#include "app/ui/pages/live/updates_card.h"
#include "app/ui/pages/live/verdict_line.h"
#include "app/ui/pages/live/watching_line.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/page_stack.h"
#include "ipc/run_folder.h"

namespace lockstep::ui {
namespace {

using core::RunStore;

/// Whether published curves are shown beside ours by default: only for whole epochs (a part of the data takes a part of the
/// time) and for the same data set.
bool comparable(const core::Experiment &experiment) {
    const std::string &theirs = experiment.recipe.published->dataset;
    return std::ranges::all_of(experiment.entries, [&](const core::ExperimentEntry &entry) {
        const RunConfig &config = entry.planned.config;
        return config.trainSamples == 0 && (theirs.empty() || theirs == config.dataset);
    });
}

/// A row of charts: as high as the highest of them needs, but not below a minimum; in less room the page scrolls.
class PictureRow : public QSplitter {
public:
    explicit PictureRow(QWidget *parent) : QSplitter(Qt::Horizontal, parent) {}
    /// A part of a high page, so that long pictures below leave the upper ones their room.
    void fitTo(int pageHeight) {
        m_least = std::max(leastRowHeight, pageHeight / 4);
        updateGeometry();
    }
    [[nodiscard]] QSize minimumSizeHint() const override {
        return QSplitter::minimumSizeHint().expandedTo({0, m_least});
    }

private:
    static constexpr int leastRowHeight = 27 * grid;
    int m_least = leastRowHeight;
};

} // namespace

LivePage::LivePage(Theme &theme, Workspace &workspace, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_shown(workspace) {
    auto *empty = new EmptyState(
        theme, QStringLiteral("live"), tr("Nothing to show yet"),
        tr("Start a recipe or a script of your own on Plan and watch it here. Earlier runs are on Runs."),
        tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &LivePage::planWanted);
    connect(empty->addChoice(tr("Your script…"), tr("Studies a training script of your own, unchanged")),
            &QPushButton::clicked, this, &LivePage::scriptWanted);
    m_stack = new PageStack(*this, empty);

    auto *body = new QWidget(this);
    body->setObjectName(QStringLiteral("pageBody"));
    buildBody(body);
    m_stack->setBody(body);
    connectSide();
    connectRuns();
    openedAnew();
}

void LivePage::buildBody(QWidget *body) {
    auto *columns = new QHBoxLayout(body);
    columns->setContentsMargins(2 * grid, 2 * grid, 0, 2 * grid);
    columns->setSpacing(2 * grid);
    m_side = new LiveSide(m_theme, m_workspace.pictured().choice(), m_shown.highlight(), body);
    columns->addWidget(m_side);
    m_rows = new QSplitter(Qt::Vertical, body);
    m_rows->setObjectName(QStringLiteral("pageBody"));
    m_rows->setContentsMargins(0, 0, 2 * grid, 0);
    m_top = new PictureRow(m_rows);
    m_bottom = new PictureRow(m_rows);
    buildTools();
    buildCards();
    buildMenu();
    for (QSplitter *row : {m_top, m_bottom}) {
        row->setStretchFactor(0, 11);
        row->setStretchFactor(1, 10);
    }
    for (QSplitter *splitter : {m_rows, m_top, m_bottom}) {
        splitter->setHandleWidth(2 * grid);
        splitter->setChildrenCollapsible(false);
    }
    resetLayout();
    auto *area = new QScrollArea(body);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(m_rows);
    columns->addWidget(area, 1);
}

void LivePage::buildCards() {
    addCard(m_loss = new LossCard(m_theme, m_shown, this), m_top);
    m_loss->addTool(m_chartsButton);
    m_loss->addTool(m_sideButton);
    addCard(m_duration = new DurationCard(m_theme, m_shown, this), m_top);
    addCard(m_devices = new DevicesCard(m_theme, m_shown, this), m_bottom);
    addCard(m_phases = new PhasesCard(m_theme, m_shown, this), m_bottom);
    m_phases->body()->addWidget(makeLine(m_phases));
    m_phases->body()->addWidget(m_verdict = new VerdictLine(m_theme, m_workspace, m_phases));
    connect(m_verdict, &QLabel::linkActivated, this, &LivePage::verdictWanted);
    addCard(m_anatomy = new AnatomyCard(m_theme, m_shown, this), m_rows);
    addCard(m_stages = new StagesCard(m_theme, m_shown, this), m_rows);
    addCard(m_nodes = new NodesCard(m_theme, m_shown, this), m_rows);
    addCard(m_updates = new UpdatesCard(m_theme, m_shown, this), m_rows);
    addCard(m_metric = new MetricCard(m_theme, m_shown, this), m_rows);
    const LiveCursor::Pictures pictures{*m_loss->chart(), *m_metric->chart(), *m_duration->chart(), *m_devices};
    m_cursor = new LiveCursor(m_shown, pictures, this);
    connect(m_cursor, &LiveCursor::timeChosen, this, &LivePage::timeChosen);
    m_forgetTime = new QShortcut(QKeySequence(Qt::Key_Escape), this); // while the keyboard is in the console
    m_forgetTime->setEnabled(false);
    connect(m_forgetTime, &QShortcut::activated, this, [this] {
        m_cursor->clear();
        m_forgetTime->setEnabled(false);
    });
}

void LivePage::addCard(LiveCard *card, QSplitter *row) {
    row->addWidget(card);
    card->setVisible(!card->isBlank());
    connect(card, &LiveCard::refreshWanted, this, &LivePage::mark);
    m_cards.push_back(card);
}

/// Those that a person can hide, with their names in settings. Loss is always there: it carries the tools.
std::vector<std::pair<QString, LiveCard *>> LivePage::optionalCards() const {
    return {{QStringLiteral("duration"), m_duration}, {QStringLiteral("devices"), m_devices},
            {QStringLiteral("phases"), m_phases},     {QStringLiteral("anatomy"), m_anatomy},
            {QStringLiteral("stages"), m_stages},     {QStringLiteral("nodes"), m_nodes},
            {QStringLiteral("updates"), m_updates},   {QStringLiteral("metric"), m_metric}};
}

/// Before the cards, so that the Tab key comes to them first.
void LivePage::buildTools() {
    m_sideButton = new QToolButton(this);
    m_sideButton->setText(tr("Runs"));
    m_sideButton->setProperty("verb", tr("Show or hide the runs"));
    m_sideButton->setCheckable(true);
    m_sideButton->setChecked(true);
    m_sideButton->setShortcut(QKeySequence(Qt::ALT | Qt::Key_R));
    m_sideButton->setToolTip(tr("The list of runs and how curves are drawn (Alt+R)"));
    connect(m_sideButton, &QToolButton::toggled, m_side, &QWidget::setVisible);

    m_chartsButton = new QToolButton(this);
    m_chartsButton->setText(tr("Charts"));
    m_chartsButton->setProperty("verb", tr("Choose charts"));
    m_chartsButton->setShortcut(QKeySequence(Qt::ALT | Qt::Key_H));
    m_chartsButton->setToolTip(tr("Which charts show (Alt+H)"));
    m_chartsButton->setPopupMode(QToolButton::InstantPopup);
}

void LivePage::buildMenu() {
    auto *menu = new QMenu(m_chartsButton);
    for (const auto &[name, card] : optionalCards()) {
        QAction *action = menu->addAction(card->title());
        action->setCheckable(true);
        action->setChecked(true);
        connect(action, &QAction::toggled, this, &LivePage::showCards);
        m_actions.insert(name, action);
    }
    m_chartsButton->setMenu(menu);
}

void LivePage::connectSide() {
    m_shown.setView(m_side->view());
    connect(m_side, &LiveSide::axisChanged, this, [this] {
        m_shown.setView(m_side->view());
        m_cursor->clear();
        mark(RunStore::Loss);
    });
    connect(m_side, &LiveSide::smoothingChanged, this, [this] {
        m_shown.setView(m_side->view());
        mark(RunStore::Loss);
    });
    connect(m_side, &LiveSide::publishedChanged, this, [this] {
        m_shown.setPublishedWanted(m_side->publishedBox()->isChecked());
        mark(RunStore::Changes(RunStore::Loss) | RunStore::Epochs);
    });
    connect(m_side, &LiveSide::consoleWanted, this, [this](const QString &runId) {
        Q_EMIT timeChosen(runId, std::numeric_limits<qint64>::max(), true); // its last lines
    });
    connect(m_side, &LiveSide::logChanged, m_loss->chart(), &LineChart::setLogAxis);
    connect(m_loss->chart(), &LineChart::logAxisChanged, m_side->logBox(), &QCheckBox::setChecked);
}

void LivePage::connectRuns() {
    const auto all = [this] { mark(RunStore::All); };
    connect(&m_workspace, &Workspace::opened, this, &LivePage::openedAnew);
    connect(&m_shown.runs(), &core::RunSet::reset, this, all);
    connect(&m_shown.runs(), &core::RunSet::changed, this, [this](int, RunStore::Changes what) { mark(what); });
    connect(&m_workspace.pictured().choice(), &core::RunChoiceModel::shownChanged, this, all);
    connect(&m_theme, &Theme::changed, this, all);
    connect(&m_workspace, &Workspace::resultsChanged, this, [this, all] {
        const bool complete = m_workspace.complete();
        if (std::exchange(m_complete, complete) != complete)
            all(); // an empty chart promises something, or no longer
    });
    connect(&m_pace, &DrawPace::due, this, [this] {
        if (isVisible() && m_dirty)
            draw();
    });
}

LineChart *LivePage::lossChart() const {
    return m_loss->chart();
}

LineChart *LivePage::durationChart() const {
    return m_duration->chart();
}

LaneView *LivePage::lanes() const {
    return m_devices->lanes();
}

PhaseBars *LivePage::phaseBars() const {
    return m_phases->bars();
}

AnatomyView *LivePage::anatomy() const {
    return m_anatomy->view();
}

WrappedLabel *LivePage::watchingLabel() const {
    return m_devices->watchingLine();
}

WrappedLabel *LivePage::verdictLabel() const {
    return m_verdict;
}

QComboBox *LivePage::axisBox() const {
    return m_side->axisBox();
}

QComboBox *LivePage::metricBox() const {
    return m_devices->metricBox();
}

std::vector<ChartSource *> LivePage::charts() const {
    std::vector<ChartSource *> out;
    for (const LiveCard *card : m_cards)
        if (!card->isBlank())
            out.push_back(card->picture());
    return out;
}

void LivePage::openedAnew() {
    m_stack->showBody(m_workspace.isOpen());
    const core::Experiment *experiment = m_workspace.experiment();
    const bool published = experiment && experiment->recipe.published.has_value();
    m_side->publishedBox()->setVisible(published);
    m_side->publishedBox()->setChecked(published && comparable(*experiment));
    for (LiveCard *card : m_cards)
        card->showAll();
    m_cursor->clear();
    m_shown.highlight().clear();
    mark(RunStore::All);
}

void LivePage::mark(RunStore::Changes what) {
    m_dirty |= what;
    if (isVisible())
        m_pace.ask();
}

void LivePage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    mark(RunStore::All);
}

void LivePage::resizeEvent(QResizeEvent *event) {
    QWidget::resizeEvent(event);
    m_side->fitTo(width());
    static_cast<PictureRow *>(m_top)->fitTo(height());
}

void LivePage::drawNow() {
    for (const auto &part : drawing())
        part();
}

std::vector<std::function<void()>> LivePage::drawing() {
    std::vector<std::function<void()>> parts = {[this] {
        m_shown.refresh();
        m_side->setStyles(m_shown.styles());
    }};
    for (LiveCard *card : m_cards)
        parts.push_back([this, card] {
            m_shown.refresh(); // runs may have come and gone since the part before
            card->refresh(RunStore::All);
        });
    parts.push_back([this] {
        showCards();
        m_verdict->refresh();
    });
    return parts;
}

void LivePage::draw() {
    const RunStore::Changes what = std::exchange(m_dirty, {});
    m_shown.refresh();
    if (what & (RunStore::Changes(RunStore::Record) | RunStore::State))
        m_side->setStyles(m_shown.styles());
    for (LiveCard *card : m_cards)
        card->refresh(what);
    showCards();
}

void LivePage::showCards() {
    for (const auto &[name, card] : optionalCards())
        card->setVisible(m_actions.value(name)->isChecked() && !card->isBlank());
    m_bottom->setVisible(!m_devices->isHidden() || !m_phases->isHidden());
}

void LivePage::showTime(const QString &runId, qint64 wallUs) {
    m_cursor->showTime(runId, wallUs);
    m_forgetTime->setEnabled(true);
}

void LivePage::saveLayout(QSettings &settings) const {
    settings.setValue(liveSetting("rows"), m_rows->saveState());
    settings.setValue(liveSetting("top"), m_top->saveState());
    settings.setValue(liveSetting("bottom"), m_bottom->saveState());
    QStringList hidden;
    for (auto it = m_actions.begin(); it != m_actions.end(); ++it)
        if (!it.value()->isChecked())
            hidden.append(it.key());
    settings.setValue(liveSetting("hidden"), hidden);
    settings.setValue(liveSetting("runs"), m_sideButton->isChecked());
    m_side->saveView(settings);
    for (const LiveCard *card : m_cards)
        card->saveChoices(settings);
    settings.setValue(liveSetting("pinned"), m_workspace.pictured().choice().pinned());
}

void LivePage::restoreLayout(const QSettings &settings) {
    for (const auto &[splitter, name] : {std::pair(m_rows, "rows"), {m_top, "top"}, {m_bottom, "bottom"}})
        splitter->restoreState(settings.value(liveSetting(name)).toByteArray());
    const QStringList hidden = settings.value(liveSetting("hidden")).toStringList();
    for (auto it = m_actions.begin(); it != m_actions.end(); ++it)
        it.value()->setChecked(!hidden.contains(it.key()));
    m_sideButton->setChecked(settings.value(liveSetting("runs"), true).toBool());
    m_side->restoreView(settings);
    for (LiveCard *card : m_cards)
        card->restoreChoices(settings);
    for (const QString &run : settings.value(liveSetting("pinned")).toStringList())
        if (isRunId(run.toStdString()) && QFile::exists(QString::fromStdString(runFolder(run.toStdString()).config())))
            m_workspace.pictured().choice().setPinned(run, true); // one that was deleted meanwhile is forgotten
}

/// Keeps pins: they concern runs, not the page's layout.
void LivePage::resetLayout() {
    for (QAction *action : std::as_const(m_actions))
        action->setChecked(true);
    m_sideButton->setChecked(true);
    m_side->resetView();
    for (LiveCard *card : m_cards)
        card->resetChoices();
    // Parts of a whole: a splitter shares out what there is.
    m_top->setSizes({1100, 1000});
    m_bottom->setSizes({1100, 1000});
    m_rows->setSizes({500, 500, 300, 240, 200, 260, 300});
}

} // namespace lockstep::ui

#include "moc_live_page.cpp"
