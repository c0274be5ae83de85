// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_page.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "analysis/compare/result_table.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/topology_view.h"
#include "app/ui/charts/waterfall.h"
#include "app/ui/pages/shared/run_nodes_card.h"
#include "app/ui/pages/shared/run_nodes_view.h"
#include "app/ui/pages/shared/use_model.h"
#include "app/ui/pages/verdict/accuracy_card.h"
#include "app/ui/pages/verdict/verdict_advice.h"
#include "app/ui/pages/verdict/verdict_anatomy.h"
#include "app/ui/pages/verdict/verdict_bars.h"
#include "app/ui/pages/verdict/verdict_controls.h"
#include "app/ui/pages/verdict/verdict_difference.h"
#include "app/ui/pages/verdict/verdict_findings.h"
#include "app/ui/pages/verdict/verdict_head.h"
#include "app/ui/pages/verdict/verdict_stages.h"
#include "app/ui/pages/verdict/verdict_target.h"
#include "app/ui/pages/verdict/verdict_traffic.h"
#include "app/ui/pages/verdict/worth_lines.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/first_rows.h"
#include "app/ui/widgets/page_stack.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "app/ui/widgets/two_columns.h"
#include "models/result_model.h"

namespace lockstep::ui {
namespace {

constexpr int widestName = 420; ///< px of a table's column of names where the table is wider than the page

/// A card that holds sentences.
Card *textCard(const QString &title, QWidget *parent, QLabel **label) {
    auto *card = new Card(title, parent);
    *label = makeLabel({}, "secondary", card);
    (*label)->setWordWrap(true);
    (*label)->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    card->body()->addWidget(*label);
    card->body()->addStretch(1);
    return card;
}

/// An empty card is hidden.
void showList(const std::vector<std::string> &sentences, QLabel *label, Card *card) {
    label->setText(sentenceLines(sentences));
    card->setVisible(!sentences.empty());
}

} // namespace

VerdictPage::VerdictPage(Theme &theme, Workspace &workspace, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_results(workspace.results()) {
    auto *empty =
        new EmptyState(theme, QStringLiteral("verdict"), tr("No verdict yet"),
                       tr("Run a recipe or a script of your own on Plan, or open an earlier experiment on Runs."),
                       tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &VerdictPage::planWanted);
    connect(empty->addChoice(tr("Your script…"), tr("Studies a training script of your own, unchanged")),
            &QPushButton::clicked, this, &VerdictPage::scriptWanted);
    m_stack = new PageStack(*this, empty);
    m_stack->setBody(buildBody());
    connect(&m_workspace, &Workspace::resultsChanged, this, &VerdictPage::refresh);
    refresh();
}

QWidget *VerdictPage::buildBody() {
    const ScrolledBody page = makeScrolledBody(this);
    QWidget *body = page.body;
    QVBoxLayout *layout = page.layout;
    layout->addWidget(m_head = new VerdictHead(m_theme, body));
    connect(m_head->lines(), &WorthLines::consoleWanted, this, &VerdictPage::consoleWanted);
    layout->addLayout(buildContrast(body));
    m_advice = new TwoColumns(body);
    buildAdvice();
    layout->addWidget(m_advice);
    for (const SuggestionButtons *buttons : suggestions())
        connect(buttons, &SuggestionButtons::wanted, &m_workspace.suggested(), &SuggestedRuns::tryRun);
    layout->addWidget(m_anatomy = new VerdictAnatomy(m_theme, m_workspace.runs(), body));
    layout->addWidget(m_stages = new VerdictStages(m_theme, m_workspace.runs(), body));
    layout->addWidget(m_traffic = new VerdictTraffic(m_theme, m_workspace.runs(), body));
    layout->addWidget(m_nodes = new RunNodesCard(m_theme, body));
    layout->addWidget(buildResults(body));
    m_figures = new TwoColumns(body);
    buildFigures();
    layout->addWidget(m_figures);
    layout->addStretch(1);
    for (QTableView *table : {m_table, m_target->table(), m_classes, m_use})
        table->setFocusPolicy(Qt::StrongFocus);
    return page.area;
}

QLayout *VerdictPage::buildContrast(QWidget *body) {
    auto *charts = new QHBoxLayout;
    charts->setSpacing(2 * grid);
    m_speedCard = new Card(tr("Speed-up"), body);
    m_speedCard->setToolTip(
        tr("Reference's training time ÷ the run's. Dotted: published, computed from the printed times"));
    m_speedUps = new BarChart(m_theme, QStringLiteral("speed-up"), m_speedCard);
    m_speedUps->setAxisTitle(tr("speed-up, training time"));
    m_speedUps->setMark(1.0);
    m_speedUps->setEmptyText(tr("Needs the reference and another run, both done"));
    m_speedCard->body()->addWidget(m_speedUps);
    m_speedCard->body()->addStretch(1); // the neighbour may be higher
    charts->addWidget(m_speedCard, 1);
    m_difference = new VerdictDifference(m_theme, m_results.judgement(), body);
    charts->addWidget(m_difference, 1);
    return charts;
}

void VerdictPage::buildAdvice() {
    const auto advice = [&](const QString &title, const QString &help, core::JudgementModel::Kind kind, Card **card) {
        *card = new Card(title, m_advice);
        (*card)->setToolTip(help);
        auto *rows = new VerdictAdvice(m_theme, m_results.judgement(), kind, *card);
        (*card)->body()->addWidget(rows);
        (*card)->body()->addStretch(1); // the neighbour may be higher
        return rows;
    };
    m_reservationsCard = textCard(tr("Reservations"), m_advice, &m_reservations);
    m_reservationsCard->setToolTip(tr("Why not to take the verdict at its word"));
    m_fairness = advice(tr("Fairness"), tr("What differs besides what was meant, and how much that can matter"),
                        core::JudgementModel::Kind::Finding, &m_fairnessCard);
    m_fair = makeLabel(tr("No unintended difference"), "secondary", m_fairnessCard);
    m_fairnessCard->body()->insertWidget(m_fairnessCard->body()->count() - 1, m_fair); // before the stretch
    m_bottlenecks = advice(
        tr("Bottlenecks"),
        tr("From the phases of the rank whose waiting is the median, medians over the repeats; press a button to "
           "queue its run"),
        core::JudgementModel::Kind::Bottleneck, &m_bottlenecksCard);
    m_advice->addLeft(m_reservationsCard);
    m_advice->addLeft(m_fairnessCard);
    m_advice->addRight(m_bottlenecksCard);
}

Card *VerdictPage::buildResults(QWidget *body) {
    auto *results = new Card(tr("Results"), body);
    m_table = makeTable(m_theme, results, core::ResultModel::Name);
    m_table->setModel(&m_results.rows());
    m_table->setAccessibleName(tr("Results"));
    using Column = core::ResultModel::Column;
    moveColumns(m_table, {Column::Name,
                          Column::State,
                          Column::Repeats,
                          Column::TotalTraining,
                          Column::SpeedUpTraining,
                          Column::Efficiency,
                          Column::Accuracy,
                          Column::FinalLoss,
                          Column::EpochMedian,
                          Column::FirstEpoch,
                          Column::PublishedTime,
                          Column::PrintedSpeedUp,
                          Column::RunTime,
                          Column::SpeedUpRun,
                          Column::SpeedUpEpoch,
                          Column::AccuracyDifference,
                          Column::LossDifference,
                          Column::Utilisation,
                          Column::Memory,
                          Column::Backend});
    results->body()->addWidget(m_table);
    return results;
}

void VerdictPage::buildFigures() {
    m_accuracy = new AccuracyCard(m_theme, m_figures);
    connect(m_accuracy, &AccuracyCard::asked, this, &VerdictPage::refresh);
    auto *target = new Card(tr("Time to target"), m_figures);
    target->setToolTip(tr("Training time until the target was first met, interpolated between epochs; %1")
                           .arg(QLatin1String(core::targetFiguresText)));
    m_target = new VerdictTarget(m_theme, m_results.targets(), target);
    target->body()->addWidget(m_target);
    m_notesCard = textCard(tr("Notes"), m_figures, &m_notes);
    auto *classes = new Card(tr("Accuracy by class / %"), m_figures);
    classes->setToolTip(tr("The first %1 classes; an export has all").arg(core::ClassAccuracyModel::mostClasses));
    m_classes = makeTable(m_theme, classes, 0);
    m_classes->setModel(&m_results.classes());
    classes->body()->addWidget(m_classes);
    auto *use = new Card(tr("Utilisation by epoch"), m_figures);
    use->setToolTip(tr("CPU: busy share of the device's cores. GPU: share of time in which a kernel ran"));
    m_useModel = new UseModel(this);
    m_use = makeTable(m_theme, use, 0);
    m_use->setModel(m_useModel);
    use->body()->addWidget(m_use);
    for (Card *card : {static_cast<Card *>(m_accuracy), target, m_notesCard})
        m_figures->addLeft(card);
    for (Card *card : {classes, use})
        m_figures->addRight(card);
}

QPushButton *VerdictPage::exportButton() const {
    return m_head->exportButton();
}

const QList<QPushButton *> &VerdictPage::settleButtons() const {
    return m_head->lines()->buttons().all();
}

std::array<SuggestionButtons *, 4> VerdictPage::suggestions() const {
    return {&m_head->lines()->buttons(), &controls()->buttons(), &m_fairness->buttons(), &m_bottlenecks->buttons()};
}

Waterfall *VerdictPage::waterfall() const {
    return m_difference->waterfall();
}

QComboBox *VerdictPage::pairBox() const {
    return m_difference->pairBox();
}

VerdictControls *VerdictPage::controls() const {
    return m_difference->controls();
}

QString VerdictPage::sentence() const {
    return m_head->sentence();
}

std::vector<ChartSource *> VerdictPage::charts() const {
    std::vector<ChartSource *> out{m_speedUps, waterfall(), m_accuracy->chart()};
    if (!m_anatomy->view()->runs().isEmpty())
        out.push_back(m_anatomy->view());
    if (!m_nodes->nodes()->isEmpty())
        out.push_back(m_nodes->nodes()->topology());
    if (!m_traffic->chart()->bars().isEmpty())
        out.push_back(m_traffic->chart());
    return out;
}

void VerdictPage::refresh() {
    const bool open = m_workspace.isOpen();
    m_stack->showBody(open);
    if (!open)
        return;
    const core::ResultTable &table = m_results.table();
    m_head->setTitle(m_workspace.title());
    const core::Judgement &judgement = m_results.judgement().judgement();
    m_head->show(table, judgement, m_workspace.complete());
    showList(table.notes, m_notes, m_notesCard);
    showList(judgement.otherReservations, m_reservations, m_reservationsCard); // findings stand beside them
    m_speedCard->setFinding(fastestFinding(judgement, m_workspace.complete()));
    m_fairnessCard->setFinding(fairnessFinding(judgement));
    m_bottlenecksCard->setFinding(boundsFinding(judgement));
    m_speedUps->setBars(speedUpBars(table));
    m_accuracy->show(table, m_workspace.openId(), m_workspace.complete());
    using Results = core::ResultModel;
    hideEmptyColumns(
        m_table, {Results::Name, Results::State, Results::Repeats, Results::TotalTraining, Results::SpeedUpTraining});
    m_useModel->setTable(table);
    m_difference->show(table, m_workspace.openId());
    refreshAdvice();
    m_anatomy->refresh(table);
    m_stages->refresh(table);
    m_traffic->refresh(table);
    const auto &stores = m_workspace.runs().stores();
    m_nodes->setRuns({stores.begin(), stores.end()});
    m_target->refresh(m_workspace.openId());
    if (isVisible() ||
        m_workspace.complete()) // measuring every cell is slow, and a run that goes on changes them often
        fitHeights();
}

void VerdictPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    fitHeights();
}

void VerdictPage::refreshAdvice() {
    const QString whyNot = m_workspace.suggested().whyNotTry();
    for (SuggestionButtons *buttons : suggestions())
        buttons->setStartable(whyNot.isEmpty(), whyNot);
    m_fairnessCard->setVisible(!m_results.judgement().judgement().pairs.empty()); // nothing to judge with a single run
    m_fairness->setVisible(m_fairness->count() > 0);
    m_fair->setVisible(m_fairness->count() == 0);
    m_bottlenecksCard->setVisible(m_bottlenecks->count() > 0);
    m_advice->setVisible(std::ranges::any_of( // empty, it would leave a second gap
        std::initializer_list<const Card *>{m_reservationsCard, m_fairnessCard, m_bottlenecksCard},
        [](const Card *card) { return !card->isHidden(); }));
}

void VerdictPage::fitHeights() {
    for (QTableView *table : {m_table, m_target->table(), m_classes, m_use}) {
        fitColumns(table, 56, table == m_table ? 260 : table == m_target->table() ? widestName : 200);
        fitHeight(table);
        // A table without rows is hidden with its card.
        (table == m_target->table() ? m_target->parentWidget() : table->parentWidget())
            ->setVisible(table->model()->rowCount() > 0);
    }
    constexpr int names = core::ResultModel::Name;
    fitColumn(m_table, names, 56, std::max(widestName, m_table->columnWidth(names)));
    m_speedUps->setFixedHeight(std::max(140, m_speedUps->sizeHint().height()));
    m_difference->fitHeight();
    m_accuracy->fitHeight();
}

} // namespace lockstep::ui

#include "moc_verdict_page.cpp"
