// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/plan_page.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QPushButton>

#include <utility>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_obstacles.h"
#include "app/ui/pages/plan/plan_places.h"
#include "app/ui/pages/plan/planned_runs_card.h"
#include "app/ui/pages/plan/queue_place.h"
#include "app/ui/pages/plan/recipe_list.h"
#include "app/ui/pages/plan/recipes_card.h"
#include "app/ui/pages/plan/settings_card.h"
#include "app/ui/pages/plan/torchrun_box.h"
#include "app/ui/pages/shared/place_switch.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

/// The reason why no run can start, if all have the same one; their rows have no room for a long one.
QString reasonOfAll(const core::Plan &plan) {
    const std::string why = plan.runs.empty() ? std::string() : plan.runs.front().notRunReason;
    for (const core::PlannedRun &run : plan.runs)
        if (run.notRunReason != why)
            return {};
    return QString::fromStdString(why).remove(QStringLiteral("not run: "));
}

} // namespace

PlanPage::PlanPage(Theme &theme, Workspace &workspace, MachineFacts facts, QWidget *parent)
    : QWidget(parent), m_workspace(workspace), m_facts(std::move(facts)),
      m_recipes(new RecipesCard(theme, m_draft, m_facts, this)), m_settings(new SettingsCard(theme, m_draft, this)),
      m_planned(new PlannedRunsCard(theme, this)), m_places(m_settings->places()),
      m_obstacles(new PlanObstacles(*m_places, *m_settings->dataNotice(), this)) {
    setObjectName(QStringLiteral("page"));
    auto *layout = new QHBoxLayout(this);
    layout->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    layout->setSpacing(2 * grid);
    layout->addWidget(m_recipes, 7);
    layout->addWidget(m_settings, 12);
    layout->addWidget(m_planned, 9);
    connectParts();
    m_recipes->list()->load();
    restyle();
}

void PlanPage::connectParts() {
    connect(m_recipes->list(), &RecipeList::draftChosen, this, [this](const PlanDraft &draft) {
        m_settings->begin(draft);
        m_recipes->refresh();
    });
    connect(m_settings, &SettingsCard::edited, this, [this] {
        setStartError({}); // perhaps fixed
        refresh();
    });
    connect(m_places, &PlanPlaces::changed, this, &PlanPage::restyle);
    connect(m_obstacles, &PlanObstacles::changed, this, &PlanPage::refresh);
    connect(m_places, &PlanPlaces::allowed, this, &PlanPage::start);
    connect(m_places, &PlanPlaces::nodesWanted, this, &PlanPage::nodesWanted);
    connect(m_places, &PlanPlaces::failed, this, &PlanPage::failed);
    connect(m_planned, &PlannedRunsCard::planned, this, [this](const core::Recipe &recipe) {
        quickBox()->setChecked(false); // it would make the trial longer or shorter
        recipes()->addAndChoose(PlanDraft(recipe), QStringLiteral("trial"));
    });
    connect(m_planned->startButton(), &QPushButton::clicked, this, &PlanPage::start);
    connect(&m_workspace.starter(), &ExperimentStarter::changed, this, &PlanPage::restyle);
    connect(&m_workspace, &Workspace::opened, this, &PlanPage::refresh);
    connect(&m_workspace.runHistory(), &core::RunHistory::refreshed, this,
            &PlanPage::refresh, // estimates may be known now
            Qt::SingleShotConnection);
}

void PlanPage::fillIn(const RunRecord &record, const QString &name) {
    quickBox()->setChecked(false); // it would change what was duplicated
    recipes()->addAndChoose(PlanDraft::ofRun(record, name.toStdString()), QStringLiteral("copy"));
}

void PlanPage::studyScript() {
    m_recipes->studyScript();
}

bool PlanPage::choose(const QString &recipe) {
    return recipes()->choose(recipe);
}

Result<void> PlanPage::chooseOrOpen(const QString &nameOrFile) {
    if (choose(nameOrFile))
        return {};
    if (!QFileInfo(nameOrFile).isFile())
        return fail(Error::badArgument("no recipe and no file is called " + nameOrFile.toStdString(),
                                       "`lockstepctl recipes` lists the recipes", "--recipe"));
    if (const auto opened = recipes()->openFile(nameOrFile); !opened)
        return fail(opened.error().front());
    return {};
}

core::EstimateSource PlanPage::estimates() const {
    core::RunIndex *index = m_workspace.history().index();
    if (!index)
        return {};
    return [index, here = core::thisMachine()](const RunConfig &config, const std::vector<std::string> &command) {
        return index->estimate(config, here, command);
    };
}

void PlanPage::refresh() {
    const auto plan = m_draft.plan(m_facts, estimates(), m_obstacles->whyNot());
    if (plan)
        m_obstacles->check(*plan, m_draft.recipe());
    m_places->show(plan ? &*plan : nullptr);
    m_planned->command()->setNodeCount(m_places->places().size());
    const bool somewhere = m_places->whyNone().isEmpty();
    m_valid = !m_settings->dataMissing() && plan.has_value() && plan->runnableCount() > 0 && somewhere;
    if (!plan)
        m_planned->showOutdated();
    else if (!somewhere) // the shown runs would run on this machine
        m_planned->showNothing();
    else if (m_obstacles->unreached(*plan).isEmpty())
        m_planned->show(*plan, m_draft.sideBySide);
    else
        m_planned->show(*m_draft.plan(m_facts, estimates(), m_obstacles->whyNotNow()), m_draft.sideBySide);
    showMistakes(plan ? std::vector<Error>() : plan.error(), plan ? &*plan : nullptr);
    restyle();
}

/// `plan`: null where something is wrong.
void PlanPage::showMistakes(std::vector<Error> wrong, const core::Plan *plan) {
    if (doctor()->examining()) // it may find the missing interface
        std::erase_if(wrong, [](const Error &error) { return error.where == "nodes"; });
    const std::vector<Error> rest = m_settings->show(wrong);
    const QString noNodes = m_places->whyNone();
    QStringList sentences;
    if (!noNodes.isEmpty())
        sentences.append(noNodes);
    for (const Error &error : rest)
        sentences.append(QString::fromStdString(error.message()));
    if (!plan) {
        sentences.append(wrong.empty()  ? tr("The doctor is looking for each node's interface…")
                         : rest.empty() ? tr("Some settings can't run: they are marked in the form.")
                                        : QString());
        sentences.removeAll(QString());
    } else if (noNodes.isEmpty() && plan->runnableCount() == 0) {
        const QString why = reasonOfAll(*plan);
        const QString nothing = m_places->overNodes() ? tr("Nothing here can run on these nodes")
                                                      : tr("Nothing here can run on this machine");
        sentences.append(why.isEmpty() ? nothing + u'.' : nothing + QStringLiteral(": ") + why);
    }
    if (plan)
        sentences += m_obstacles->unreached(*plan);
    m_planned->setMistakes(sentences);
}

void PlanPage::start() {
    if (!m_valid || m_workspace.starter().starting() || !m_places->mayStart())
        return;
    setStartError({});
    core::StartRequest request;
    request.recipe = m_draft.effective();
    request.quick = m_draft.isQuick();
    request.repeats = m_draft.repeats;
    if (!m_draft.recipe().orderSeed)
        request.orderSeed =
            std::exchange(m_draft.orderSeed, core::newOrderSeed()); // as shown; the next start has its own
    request.sideBySide = m_draft.sideBySide;
    request.queueOn = queuePlace()->host().toStdString();
    Q_EMIT startRequested(request);
}

void PlanPage::setStartError(const QString &sentence) {
    m_planned->setStartError(sentence);
}

void PlanPage::restyle() {
    const bool starting = m_workspace.starter().starting();
    m_planned->setStart(starting              ? tr("Starting…")
                        : m_places->waiting() ? tr("Asking the doctor…")
                        : m_places->warned()  ? tr("Start anyway")
                                              : tr("Start"),
                        m_valid && !starting && !m_places->waiting());
}

ConfigForm *PlanPage::form() const {
    return m_settings->form();
}

QPushButton *PlanPage::startButton() const {
    return m_planned->startButton();
}

QPushButton *PlanPage::tryButton() const {
    return m_planned->tryButton();
}

QComboBox *PlanPage::sideBySideBox() const {
    return m_settings->sideBySideBox();
}

QCheckBox *PlanPage::quickBox() const {
    return m_settings->quickBox();
}

RecipeList *PlanPage::recipes() const {
    return m_recipes->list();
}

DevicePicker *PlanPage::devicePicker() const {
    return m_places->devices();
}

NodePicker *PlanPage::nodePicker() const {
    return m_places->nodes();
}

PlanDoctor *PlanPage::doctor() const {
    return m_places->doctor();
}

QueuePlace *PlanPage::queuePlace() const {
    return m_places->queuePlace();
}

QPushButton *PlanPage::hereButton() const {
    return m_places->where()->here();
}

QPushButton *PlanPage::nodesButton() const {
    return m_places->where()->nodes();
}

QString PlanPage::mistakes() const {
    return m_planned->mistakes();
}

QString PlanPage::commandText() const {
    return m_planned->command()->text();
}

DataNotice *PlanPage::dataNotice() const {
    return m_settings->dataNotice();
}

core::PlanModel &PlanPage::plan() {
    return m_planned->model();
}

} // namespace lockstep::ui

#include "moc_plan_page.cpp"
