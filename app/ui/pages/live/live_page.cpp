// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/live_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QScrollArea>
#include <QSlider>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>

#include <algorithm>

#include "analysis/compare/verdict.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/live/metric_card.h"
#include "app/ui/pages/shared/run_nodes_card.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/wrapped_label.h"

namespace lockstep::ui {
namespace {

constexpr int leastPauseMs = 50;   ///< twenty pictures a second at most
constexpr int phasesPauseMs = 250; ///< of what is a mean over the whole run

using core::RunStore;

qint64 nowMs() {
    static const QElapsedTimer clock = [] {
        QElapsedTimer timer;
        timer.start();
        return timer;
    }();
    return clock.elapsed();
}

/// Whether an epoch is a whole one: a part of the data takes a part of the time, and stands beside the publication's
/// times only when asked for.
bool comparable(const core::Experiment &experiment) {
    return std::all_of(experiment.entries.begin(), experiment.entries.end(),
                       [](const core::ExperimentEntry &entry) { return entry.planned.config.trainSamples == 0; });
}

/// A row of pictures: as high as the highest of them needs, and high enough to say something; less scrolls.
class PictureRow : public QSplitter {
public:
    explicit PictureRow(QWidget *parent) : QSplitter(Qt::Horizontal, parent) {}
    [[nodiscard]] QSize minimumSizeHint() const override {
        return QSplitter::minimumSizeHint().expandedTo({0, 30 * grid});
    }
};

QComboBox *makeChoice(const QStringList &items, const QString &hint, QWidget *parent) {
    auto *box = new QComboBox(parent);
    box->addItems(items);
    box->setToolTip(hint);
    box->setAccessibleName(hint);
    box->setFixedHeight(28);
    return box;
}

} // namespace

LivePage::LivePage(Theme &theme, Workspace &workspace, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_stack(new QStackedWidget(this)) {
    setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_stack);
    auto *empty = new EmptyState(theme, QStringLiteral("live"), tr("Nothing to watch yet"),
                                 tr("Start a recipe on Plan: loss, epoch times, device lanes and the phases of a step "
                                    "appear here while it trains. Earlier runs are on Runs."),
                                 tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &LivePage::planWanted);
    m_stack->addWidget(empty);

    auto *body = new QWidget(this);
    body->setObjectName(QStringLiteral("pageBody"));
    buildBody(body);
    m_stack->addWidget(body);

    connect(&m_workspace, &Workspace::opened, this, &LivePage::openedAnew);
    connect(&m_workspace, &Workspace::resultsChanged, this, &LivePage::drawVerdict);
    connect(&runs(), &core::RunSet::reset, this, [this] { mark(RunStore::All); });
    connect(&runs(), &core::RunSet::changed, this, [this](int, RunStore::Changes what) { mark(what); });
    connect(&m_workspace.pictured().choice(), &core::RunChoiceModel::shownChanged, this,
            [this] { mark(RunStore::All); });
    connect(&m_theme, &Theme::changed, this, [this] {
        mark(RunStore::All);
        drawVerdict();
    });
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &LivePage::tick);
    m_phasesRest.setSingleShot(true);
    m_phasesRest.setInterval(phasesPauseMs);
    connect(&m_phasesRest, &QTimer::timeout, this, [this] {
        if (std::exchange(m_phasesWait, false))
            mark(RunStore::Phases);
    });
    openedAnew();
}

void LivePage::buildBody(QWidget *body) {
    auto *columns = new QHBoxLayout(body);
    columns->setContentsMargins(2 * grid, 2 * grid, 0, 2 * grid);
    columns->setSpacing(2 * grid);
    m_side = new LiveSide(m_theme, m_workspace.pictured().choice(), body);
    columns->addWidget(m_side);
    m_rows = new QSplitter(Qt::Vertical, body);
    m_rows->setObjectName(QStringLiteral("pageBody"));
    m_rows->setContentsMargins(0, 0, 2 * grid, 0);
    m_top = new PictureRow(m_rows);
    m_top->addWidget(buildLoss());
    m_top->addWidget(m_durationCard = buildDuration());
    m_bottom = new PictureRow(m_rows);
    m_bottom->addWidget(m_lanesCard = buildLanes());
    m_bottom->addWidget(m_phasesCard = buildPhases());
    m_rows->addWidget(m_anatomyCard = buildAnatomy());
    m_rows->addWidget(m_nodes = new RunNodesCard(m_theme, this));
    m_rows->addWidget(m_metricCard = new MetricCard(m_theme, runs(), this));
    m_metricCard->hide();
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
    connect(m_side, &LiveSide::axisChanged, this, [this] {
        pointAt({});
        mark(RunStore::Loss);
    });
    connect(m_metricCard, &MetricCard::metricChosen, this, [this] { mark(RunStore::Loss); });
    connect(m_side, &LiveSide::smoothingChanged, this, [this] { mark(RunStore::Loss); });
    connect(m_side, &LiveSide::publishedChanged, this, [this] { mark(RunStore::Loss | RunStore::Epochs); });
    connect(m_side, &LiveSide::logChanged, m_loss, &LineChart::setLogAxis);
    connect(m_loss, &LineChart::logAxisChanged, m_side->logBox(), &QCheckBox::setChecked);
    connectPointers();
}

Card *LivePage::buildLoss() {
    auto *card = new Card(tr("Loss"), this);
    card->setToolTip(tr(
        "Cross-entropy of the training batches, mean over all ranks, weighted by samples. The value at a "
        "line's end is the mean over its last complete epoch, as publications print it. The wheel, a dragged band, + "
        "and - zoom, Shift and drag pan, a double click shows all; arrows move the crosshair; a click scrolls the "
        "console to that time"));
    m_sideButton = new QToolButton(card);
    m_sideButton->setText(tr("Runs"));
    m_sideButton->setCheckable(true);
    m_sideButton->setChecked(true);
    m_sideButton->setShortcut(QKeySequence(Qt::ALT | Qt::Key_R));
    m_sideButton->setToolTip(tr("The list of runs and how curves are drawn (Alt+R)"));
    connect(m_sideButton, &QToolButton::toggled, m_side, &QWidget::setVisible);
    buildChartsMenu(card);
    card->addTool(m_sideButton);
    m_loss = new LineChart(m_theme, QStringLiteral("loss"), card);
    card->body()->addWidget(m_loss, 1);
    return card;
}

Card *LivePage::buildDuration() {
    auto *card = new Card(tr("Duration per epoch"), this);
    card->setToolTip(tr("Wall time of an epoch's training loop, evaluation left out, the slowest rank's"));
    m_durationView =
        makeChoice({tr("each epoch"), tr("median")}, tr("Every epoch, or the median of the complete ones"), card);
    card->addTool(m_durationView);
    m_duration = new LineChart(m_theme, QStringLiteral("duration-per-epoch"), card);
    m_duration->setAxisTitles(tr("epoch"), tr("duration / s"));
    m_duration->setWholeX(true);
    m_duration->setZeroBased(true);
    m_medians = new BarChart(m_theme, QStringLiteral("median-epoch-duration"), card);
    m_medians->setAxisTitle(tr("median duration of an epoch / s"));
    auto *stack = new QStackedWidget(card);
    stack->addWidget(m_duration);
    stack->addWidget(m_medians);
    connect(m_durationView, &QComboBox::currentIndexChanged, stack, &QStackedWidget::setCurrentIndex);
    card->body()->addWidget(stack, 1);
    return card;
}

Card *LivePage::buildLanes() {
    auto *card = new Card(tr("Devices"), this);
    card->setToolTip(
        tr("How busy each device was, sampled five times a second. CPU: busy share of its cores (a rank "
           "that spins while it waits counts as busy). GPU: share of time in which any kernel ran. Memory, "
           "power and temperature where a device tells them"));
    m_metric = makeChoice({tr("utilisation"), tr("memory"), tr("power"), tr("temperature")},
                          tr("What the lanes show, all on one scale"), card);
    connect(m_metric, &QComboBox::currentIndexChanged, this, [this] { mark(RunStore::Devices); });
    card->addTool(m_metric);
    m_window = makeChoice({tr("whole run"), tr("last 60 s")},
                          tr("All runs on one time axis: from each run's beginning, or the last 60 s of each"), card);
    connect(m_window, &QComboBox::currentIndexChanged, this, [this] { mark(RunStore::Devices); });
    card->addTool(m_window);
    m_lanes = new LaneView(m_theme, QStringLiteral("devices"), card);
    card->body()->addWidget(m_lanes, 1);
    m_watching = new WrappedLabel("small", card);
    m_watching->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_watching->setToolTip(
        tr("Processor time of all windows and commands that follow the run on its machine, mean of ten "
           "seconds, as the run's agent measures it. The display server is not in it"));
    m_watching->hide();
    card->body()->addWidget(m_watching);
    return card;
}

Card *LivePage::buildPhases() {
    auto *card = new Card(tr("Where a step goes"), this);
    card->setToolTip(tr("Mean time of each phase of a training step, by rank. Full colour computes, light loads, "
                        "hatched communicates or waits; the thin row below tells what lies inside"));
    m_phases = new PhaseBars(m_theme, QStringLiteral("phases"), card);
    card->body()->addWidget(m_phases, 1);
    card->body()->addWidget(makeLine(card));
    m_verdict = new WrappedLabel(nullptr, card);
    m_verdict->setTextInteractionFlags(Qt::TextBrowserInteraction);
    connect(m_verdict, &QLabel::linkActivated, this, &LivePage::verdictWanted);
    card->body()->addWidget(m_verdict);
    return card;
}

Card *LivePage::buildAnatomy() {
    auto *card = new Card(tr("Anatomy of data parallel"), this);
    card->setToolTip(
        tr("A mean step of DP as it happens: device 0 scatters the batch, copies the parameters, gathers the "
           "outputs, computes the loss and reduces the gradients; the others work only in the parallel parts"));
    m_anatomy = new AnatomyView(m_theme, QStringLiteral("dp-anatomy"), card);
    card->body()->addWidget(m_anatomy, 1);
    card->hide();
    return card;
}

QComboBox *LivePage::axisBox() const {
    return m_side->axisBox();
}

core::RunSet &LivePage::runs() const {
    return m_workspace.pictured().runs();
}

std::vector<ChartSource *> LivePage::charts() const {
    std::vector<ChartSource *> out{m_loss, m_duration, m_lanes, m_phases};
    if (!m_anatomy->runs().isEmpty())
        out.push_back(m_anatomy);
    if (!m_nodes->isEmpty())
        out.push_back(m_nodes->view());
    if (!m_metricCard->isEmpty())
        out.push_back(m_metricCard->chart());
    return out;
}

void LivePage::openedAnew() {
    m_stack->setCurrentIndex(m_workspace.isOpen() ? 1 : 0);
    const core::Experiment *experiment = m_workspace.experiment();
    const bool published = experiment && experiment->recipe.published.has_value();
    m_side->publishedBox()->setVisible(published);
    m_side->publishedBox()->setChecked(published && comparable(*experiment));
    m_loss->showAll();
    m_metricCard->chart()->showAll();
    m_duration->showAll();
    pointAt({});
    mark(RunStore::All);
    drawVerdict();
}

bool LivePage::showPublished() const {
    return m_side->publishedBox()->isChecked() && m_workspace.experiment();
}

void LivePage::mark(RunStore::Changes what) {
    m_dirty |= what;
    // No timer runs while nothing changes; the first change after a quiet while is drawn at once.
    if (isVisible() && !m_timer.isActive())
        m_timer.start(int(std::max<qint64>(0, m_notBefore - nowMs())));
}

void LivePage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    mark(RunStore::All);
}

void LivePage::tick() {
    if (!isVisible() || !m_dirty)
        return;
    const qint64 begun = nowMs();
    draw();
    m_notBefore = std::max(begun + leastPauseMs, nowMs() + (nowMs() - begun) * 9);
}

void LivePage::drawNow() {
    m_dirty = RunStore::All;
    draw();
    drawVerdict();
}

void LivePage::draw() {
    const RunStore::Changes what = std::exchange(m_dirty, {});
    const PicturedRuns &pictured = m_workspace.pictured();
    m_looks = runLooks(
        runs(), [this](const RunStore &run) { return m_workspace.pictured().choice().isShown(run.runId()); },
        [&pictured](const RunStore &run) { return pictured.isForeign(&run); });
    if (what & (RunStore::Changes(RunStore::Record) | RunStore::State)) {
        m_side->setLooks(m_looks);
        sayWhyEmpty();
    }
    if (what & (RunStore::Loss | RunStore::Record | RunStore::State)) {
        drawLoss();
        drawMetric();
    }
    if (what & (RunStore::Changes(RunStore::Alerts) | RunStore::State | RunStore::Link | RunStore::Record))
        drawMarks();
    if (what & (RunStore::Epochs | RunStore::Record | RunStore::State))
        drawDuration();
    if (what & (RunStore::Changes(RunStore::Link) | RunStore::State | RunStore::Record))
        drawNodes();
    if (what & (RunStore::Changes(RunStore::Devices) | RunStore::Record | RunStore::Link | RunStore::State))
        drawLanes();
    if (what & (RunStore::Changes(RunStore::Devices) | RunStore::Epochs | RunStore::Alerts | RunStore::State |
                RunStore::Link | RunStore::Record))
        drawLaneMarks();
    if (what & (RunStore::Changes(RunStore::Devices) | RunStore::State | RunStore::Link))
        tellWatching();
    const auto means = RunStore::Changes(RunStore::Phases) | RunStore::Epochs | RunStore::Record;
    if ((what & means) && m_phasesRest.isActive() && what != RunStore::Changes(RunStore::All)) {
        m_phasesWait = true;
        return;
    }
    if (what & (RunStore::Phases | RunStore::Record))
        drawPhases();
    if (what & means)
        drawAnatomy();
    if (what & means)
        m_phasesRest.start();
}

void LivePage::sayWhyEmpty() {
    const bool hidden = !m_looks.empty() &&
                        std::none_of(m_looks.begin(), m_looks.end(), [](const RunLook &look) { return look.shown; });
    const QString why = hidden ? tr("Every run is hidden: tick one in the list, or press Alt+A") : QString();
    const auto say = [&](auto *chart, const QString &otherwise) { chart->setEmptyText(hidden ? why : otherwise); };
    say(m_loss, tr("The first loss arrives with the first steps"));
    say(m_duration, tr("The first epoch's time arrives when it is complete"));
    say(m_medians, tr("The first epoch's time arrives when it is complete"));
    say(m_lanes, tr("Device samples arrive five times a second while a run trains"));
    say(m_phases, tr("The phases of a step arrive with the first steps"));
}

/// The speed-ups alone: why they are so, and what speaks against taking them at their word, is on Verdict.
void LivePage::drawVerdict() {
    const core::ResultTable &table = m_workspace.results().table();
    const core::VerdictText verdict = core::verdictText(table);
    if (verdict.sentence.empty()) {
        m_verdict->setWords(tr("No verdict yet: it takes a complete epoch of the reference and of another run."));
        m_verdict->setToolTip({});
        return;
    }
    const auto reservations = table.reservations.size();
    const QString link = reservations == 0   ? tr("Why?")
                         : reservations == 1 ? tr("Why? One reservation")
                                             : tr("Why? %1 reservations").arg(reservations);
    m_verdict->setWords(
        (m_workspace.complete() ? tr("<b>Verdict:</b> %1 %2") : tr("<b>Verdict so far:</b> %1 %2"))
            .arg(QString::fromStdString(verdict.speedUps).toHtmlEscaped(),
                 // by name: a label keeps the colour of a link from when its text was laid out
                 QStringLiteral("<a href='verdict' style='color:%2'>%1</a>").arg(link, m_theme.palette().text.name())));
    m_verdict->setToolTip(QStringLiteral("<p>%1</p><p>%2</p>")
                              .arg(QString::fromStdString(verdict.sentence).toHtmlEscaped(),
                                   tr("Reference's time ÷ run's time, both measured. More on Verdict (Ctrl+3)")));
}

} // namespace lockstep::ui
