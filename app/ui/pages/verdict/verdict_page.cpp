// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "analysis/compare/result_table.h"
#include "analysis/compare/verdict.h"
#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/topology_view.h"
#include "app/ui/charts/waterfall.h"
#include "app/ui/pages/shared/run_nodes_card.h"
#include "app/ui/pages/shared/run_nodes_view.h"
#include "app/ui/pages/shared/use_model.h"
#include "app/ui/pages/verdict/verdict_advice.h"
#include "app/ui/pages/verdict/verdict_anatomy.h"
#include "app/ui/pages/verdict/verdict_causes.h"
#include "app/ui/pages/verdict/verdict_controls.h"
#include "app/ui/pages/verdict/verdict_target.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/empty_state.h"
#include "app/ui/widgets/scrolled_body.h"
#include "app/ui/widgets/tables.h"
#include "base/format.h"
#include "models/result_model.h"

namespace lockstep::ui {
namespace {

/// Of a speed-up's bar: what kind of figure it is, and why it has no whisker.
QString speedUpHint(const core::ResultRow &row) {
    const QString kind = QString::fromStdString(row.kind);
    return row.trainingInterval && !row.trainingInterval->hasInterval()
               ? kind +
                     QObject::tr("; no interval: fewer than %1 repeats of one of the two").arg(core::repeatsForInterval)
               : kind;
}

} // namespace

VerdictPage::VerdictPage(Theme &theme, Workspace &workspace, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_workspace(workspace), m_stack(new QStackedWidget(this)) {
    setObjectName(QStringLiteral("page"));
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_stack);
    auto *empty = new EmptyState(theme, QStringLiteral("verdict"), tr("No verdict yet"),
                                 tr("Run a contrast on Plan, or open an earlier one on Runs: what is worth it on this "
                                    "machine is computed here from what was measured."),
                                 tr("Go to Plan"), this);
    connect(empty, &EmptyState::clicked, this, &VerdictPage::planWanted);
    m_stack->addWidget(empty);
    m_stack->addWidget(buildBody());
    connect(&m_workspace, &Workspace::resultsChanged, this, &VerdictPage::refresh);
    connect(&m_theme, &Theme::changed, this, &VerdictPage::restyle);
    restyle();
    refresh();
}

QWidget *VerdictPage::buildHead() {
    auto *card = new Card({}, this);
    m_head = card;
    m_sentence = makeLabel({}, "display", card);
    m_sentence->setWordWrap(true);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_repeats = makeLabel({}, "secondary", card);
    m_repeats->setWordWrap(true);
    m_export = new QPushButton(tr("Export"), card);
    m_export->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_E));
    m_export->setToolTip(tr("Results as a page, a table or data, charts, event files for TensorBoard (Ctrl+E)"));
    card->addTool(m_export);
    card->body()->addWidget(m_sentence);
    card->body()->addWidget(m_repeats);
    m_reservations = makeLabel({}, "secondary", card);
    m_reservations->setWordWrap(true);
    m_reservations->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    card->body()->addWidget(m_reservations);
    return card;
}

Card *VerdictPage::buildWaterfall(QWidget *parent) {
    auto *card = new Card(tr("Where the difference comes from"), parent);
    card->setToolTip(
        tr("From the reference's run time to the run's, by measured phases; what the phases do not explain is a "
           "bar of its own. Medians over the repeats"));
    m_pair = new QComboBox(card);
    m_pair->setAccessibleName(tr("Run that is explained"));
    m_pair->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_pair, &QComboBox::currentIndexChanged, this, [this] { // by the person: a refresh is quiet
        m_chosenPair = m_pair->currentText();
        m_chosenOf = m_workspace.openId();
        refreshWaterfall();
    });
    card->addTool(m_pair);
    m_waterfall = new Waterfall(m_theme, QStringLiteral("waterfall"), card);
    m_waterfall->setEmptyText(tr("Appears when the reference and another run are done"));
    card->body()->addWidget(m_waterfall);
    m_factors = makeLabel({}, "secondary", card);
    m_factors->setWordWrap(true);
    m_factors->setTextInteractionFlags(Qt::TextSelectableByMouse);
    card->body()->addWidget(m_factors);
    m_controls = new VerdictControls(card);
    connect(m_controls, &VerdictControls::wanted, this, &VerdictPage::tryRun);
    card->body()->addWidget(m_controls);
    card->body()->addStretch(1);
    return card;
}

QWidget *VerdictPage::buildBody() {
    const ScrolledBody page = makeScrolledBody(this);
    QWidget *body = page.body;
    QVBoxLayout *layout = page.layout;
    layout->addWidget(buildHead());

    auto *charts = new QHBoxLayout;
    charts->setSpacing(2 * grid);
    auto *speed = new Card(tr("Speed-up"), body);
    speed->setToolTip(tr("Reference's time ÷ run's time, both measured; total training time is the sum of the epochs' "
                         "durations. Published figures are dotted, computed from the printed times"));
    m_speedUps = new BarChart(m_theme, QStringLiteral("speed-up"), speed);
    m_speedUps->setAxisTitle(tr("speed-up of the total training time"));
    m_speedUps->setMark(1.0);
    m_speedUps->setEmptyText(tr("Speed-ups appear when the reference and another run are done"));
    speed->body()->addWidget(m_speedUps);
    speed->body()->addStretch(1); // the neighbour may be higher
    charts->addWidget(speed, 1);
    charts->addWidget(buildWaterfall(body), 1);
    layout->addLayout(charts);

    const auto advice = [&](const QString &title, const QString &help, core::JudgementModel::Kind kind, Card **card) {
        *card = new Card(title, body);
        (*card)->setToolTip(help);
        auto *rows = new VerdictAdvice(m_theme, m_workspace.judgement(), kind, *card);
        (*card)->body()->addWidget(rows);
        connect(rows, &VerdictAdvice::wanted, this, &VerdictPage::tryRun);
        layout->addWidget(*card);
        return rows;
    };
    m_fairness = advice(tr("Is the comparison fair?"),
                        tr("In what the runs differ besides what was meant, and how much that can bend the comparison"),
                        core::JudgementModel::Kind::Finding, &m_fairnessCard);
    m_fair = makeLabel(tr("Nothing was found that differs besides what was meant."), "secondary", m_fairnessCard);
    m_fairnessCard->body()->addWidget(m_fair);
    m_bottlenecks =
        advice(tr("What bounds each run, and what to try"),
               tr("By the phases of the rank in the middle by its waiting (of two, the one that waits more), "
                  "medians over the repeats; a press queues the run in this experiment"),
               core::JudgementModel::Kind::Bottleneck, &m_bottlenecksCard);
    m_anatomy = new VerdictAnatomy(m_theme, m_workspace, body);
    layout->addWidget(m_anatomy);
    m_nodes = new RunNodesCard(m_theme, body);
    layout->addWidget(m_nodes);
    auto *accuracy = new Card(tr("Test accuracy"), body);
    accuracy->setToolTip(tr("Share of the test images classified rightly after the last epoch, each image once"));
    m_accuracy = new BarChart(m_theme, QStringLiteral("test-accuracy"), accuracy);
    m_accuracy->setAxisTitle(tr("test accuracy / %"));
    m_accuracy->setEmptyText(tr("Accuracy appears with the first evaluation"));
    accuracy->body()->addWidget(m_accuracy);

    auto *results = new Card(tr("Results"), body);
    m_table = makeTable(m_theme, results, core::ResultModel::Name);
    m_table->setModel(&m_workspace.results());
    m_table->setAccessibleName(tr("Results"));
    using Column = core::ResultModel::Column;
    moveColumns(m_table, {Column::Name, Column::State, Column::Repeats, Column::TotalTraining, Column::SpeedUpTraining,
                          Column::Efficiency, Column::Accuracy, Column::FinalLoss, Column::EpochMedian,
                          Column::FirstEpoch, Column::PublishedTime, Column::PrintedSpeedUp, Column::RunTime,
                          Column::SpeedUpRun, Column::SpeedUpEpoch, Column::AccuracyDifference, Column::LossDifference,
                          Column::Utilisation, Column::Backend});
    results->body()->addWidget(m_table);
    layout->addWidget(results);
    layout->addWidget(accuracy);
    auto *target = new Card(tr("Time to target"), body);
    target->setToolTip(
        tr("Training time until the target was first met, interpolated between the ends of epochs; evaluation and "
           "start-up left out. Medians over the repeats"));
    m_target = new VerdictTarget(m_theme, m_workspace.targets(), target);
    target->body()->addWidget(m_target);
    layout->addWidget(target);

    auto *notes = new Card(tr("Keep in mind"), body);
    m_notes = new QLabel(notes);
    m_notes->setWordWrap(true);
    m_notes->setTextInteractionFlags(Qt::TextSelectableByMouse);
    notes->body()->addWidget(m_notes);
    m_notesCard = notes;
    layout->addWidget(notes);

    auto *classes = new Card(tr("Test accuracy by class / %"), body);
    m_classes = makeTable(m_theme, classes, 0);
    m_classes->setModel(&m_workspace.classes());
    classes->body()->addWidget(m_classes);
    layout->addWidget(classes);

    auto *use = new Card(tr("Utilisation by epoch"), body);
    use->setToolTip(
        tr("Mean over the epoch's samples. CPU: busy share of the device's cores; GPU: share of time any kernel ran"));
    m_useModel = new UseModel(this);
    m_use = makeTable(m_theme, use, 0);
    m_use->setModel(m_useModel);
    use->body()->addWidget(m_use);
    layout->addWidget(use);
    layout->addStretch(1);
    for (QTableView *table : {m_table, m_target->table(), m_classes, m_use})
        table->setFocusPolicy(Qt::StrongFocus);
    return page.area;
}

QString VerdictPage::sentence() const {
    return m_sentence->text();
}

std::vector<ChartSource *> VerdictPage::charts() const {
    std::vector<ChartSource *> out{m_speedUps, m_waterfall, m_accuracy};
    if (!m_anatomy->view()->runs().isEmpty())
        out.push_back(m_anatomy->view());
    if (!m_nodes->nodes()->isEmpty())
        out.push_back(m_nodes->nodes()->topology());
    return out;
}

void VerdictPage::refresh() {
    const bool open = m_workspace.isOpen();
    m_stack->setCurrentIndex(open ? 1 : 0);
    if (!open)
        return;
    const core::ResultTable &table = m_workspace.results().table();
    const core::VerdictText text = core::verdictText(table);
    m_sentence->setText(text.sentence.empty() ? tr("No verdict yet: the reference and another run must be done.")
                                              : QString::fromStdString(text.sentence));
    m_head->setTitle(m_workspace.title());
    m_head->setNote(QString::fromStdString(table.datasetNote));
    m_repeats->setText((m_workspace.complete() ? QString() : tr("So far: runs are still to come. ")) +
                       QString::fromStdString(text.spread));
    m_repeats->setVisible(!m_repeats->text().isEmpty());
    QStringList notes;
    for (const std::string &note : table.notes)
        notes.append(QStringLiteral("• ") + QString::fromStdString(note));
    m_notes->setText(notes.join(QLatin1Char('\n')));
    m_notesCard->setVisible(!notes.isEmpty());
    refreshBars(table);
    refreshUse(table);
    refreshAdvice();
    m_anatomy->refresh();
    const auto &stores = m_workspace.runs().stores();
    m_nodes->setRuns({stores.begin(), stores.end()});
    m_target->refresh();
    if (isVisible() ||
        m_workspace.complete()) // measuring every cell is dear, and a run that goes on changes them often
        fitHeights();
}

void VerdictPage::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    fitHeights();
}

void VerdictPage::refreshBars(const core::ResultTable &table) {
    QList<BarData> speed, accuracy;
    for (const core::ResultRow &row : table.rows) {
        const QColor color = methodColor(QString::fromStdString(row.method));
        const QString name = (row.published ? tr("publ. ") : QString()) + QString::fromStdString(row.name);
        const QString kind = QString::fromStdString(row.kind);
        const auto value = row.speedUpTraining ? row.speedUpTraining : row.published ? row.speedUpRun : std::nullopt;
        if (value || (!row.published && row.state != "not run")) // what did not run stands in the table
        {
            const core::SpeedUp interval = row.trainingInterval.value_or(core::SpeedUp());
            speed.append({name, color, row.published, value,
                          value ? core::speedUp(value) : QString::fromStdString(row.state), speedUpHint(row),
                          interval.low, interval.high});
        }
        if (row.testAccuracy)
            accuracy.append(
                {name, color, row.published, *row.testAccuracy * 100, core::percent(row.testAccuracy), kind});
    }
    m_speedUps->setBars(speed);
    m_accuracy->setBars(accuracy);
    const bool published = std::ranges::any_of(table.rows, &core::ResultRow::published);
    for (const int column : {core::ResultModel::PublishedTime, core::ResultModel::PrintedSpeedUp})
        m_table->setColumnHidden(column, !published);
}

void VerdictPage::refreshAdvice() {
    const core::Judgement &judgement = m_workspace.judgement().judgement();
    QStringList reservations;
    for (const std::string &reservation : m_workspace.results().table().reservations)
        reservations.append(QStringLiteral("• ") + QString::fromStdString(reservation));
    m_reservations->setText(reservations.join(QLatin1Char('\n')));
    m_reservations->setVisible(!reservations.isEmpty());
    refreshPairs();
    refreshWaterfall();
    const bool startable = m_workspace.mayTry();
    for (VerdictAdvice *advice : {m_fairness, m_bottlenecks})
        advice->setStartable(startable, m_workspace.whyNotTry());
    m_controls->setStartable(startable, m_workspace.whyNotTry());
    m_fairnessCard->setVisible(!judgement.pairs.empty()); // of one run alone there is nothing to ask
    m_fairness->setVisible(m_fairness->count() > 0);
    m_fair->setVisible(m_fairness->count() == 0);
    m_bottlenecksCard->setVisible(m_bottlenecks->count() > 0);
}

/// The pair that the person chose, else the one that the sentence explains.
void VerdictPage::refreshPairs() {
    const core::JudgementModel &model = m_workspace.judgement();
    const auto &pairs = model.judgement().pairs;
    const std::optional<std::size_t> explained = model.explainedPair();
    const QSignalBlocker quiet(m_pair);
    m_pair->clear();
    for (std::size_t i = 0; i < pairs.size(); ++i)
        if (pairs[i].attribution)
            m_pair->addItem(QString::fromStdString(pairs[i].run), int(i));
    const int chosen = m_chosenOf == m_workspace.openId() ? m_pair->findText(m_chosenPair) : -1;
    m_pair->setCurrentIndex(chosen >= 0 ? chosen : explained ? m_pair->findData(int(*explained)) : -1);
    m_pair->setVisible(m_pair->count() > 1);
}

void VerdictPage::refreshWaterfall() {
    const core::Judgement &judgement = m_workspace.judgement().judgement();
    if (m_pair->currentIndex() < 0) {
        m_waterfall->setBars({});
        m_factors->hide();
        m_controls->setRuns({});
        return;
    }
    const auto at = std::size_t(m_pair->currentData().toInt());
    const core::Attribution &found = *judgement.pairs[at].attribution;
    const auto color = [&](const std::string &name) {
        for (const core::ResultRow &row : m_workspace.results().table().rows)
            if (!row.published && row.name == name)
                return methodColor(QString::fromStdString(row.method));
        return methodColor(QString());
    };
    m_waterfall->setBars(waterfallBars(found, color(found.reference), color(found.run)));
    QStringList lines;
    for (const core::FactorEffect &factor : found.factors)
        lines.append(QStringLiteral("• ") + factorLine(factor, found.longerS()));
    m_factors->setText(lines.isEmpty() ? QString() : tr("One setting at a time:\n") + lines.join(QLatin1Char('\n')));
    m_factors->setVisible(!lines.isEmpty());
    m_controls->setRuns(found.missing);
}

void VerdictPage::tryRun(const core::SuggestedRun &run) {
    m_workspace.tryRun(run);
}

void VerdictPage::refreshUse(const core::ResultTable &table) {
    m_useModel->setTable(table);
}

void VerdictPage::fitHeights() {
    for (QTableView *table : {m_table, m_target->table(), m_classes, m_use}) {
        fitColumns(table, 56, table == m_table ? 260 : table == m_target->table() ? 420 : 200);
        fitHeight(table);
        // A table without rows has nothing to say: its card goes.
        (table == m_target->table() ? m_target->parentWidget() : table->parentWidget())
            ->setVisible(table->model()->rowCount() > 0);
    }
    m_speedUps->setFixedHeight(std::max(140, m_speedUps->sizeHint().height()));
    m_waterfall->setFixedHeight(m_waterfall->sizeHint().height());
    m_accuracy->setFixedHeight(std::max(140, m_accuracy->sizeHint().height()));
}

void VerdictPage::restyle() {
    m_theme.setIcon(m_export, QStringLiteral("export"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui
