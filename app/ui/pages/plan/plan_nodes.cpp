// SPDX-License-Identifier: MIT
// Plan, where the runs go: this machine's devices, or devices of the nodes in the book, which the doctor looks at first.
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>

#include <algorithm>

#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/queue_place.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/place_switch.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "nodes/node_choice.h"

namespace lockstep::ui {
namespace {

const FieldSpec &nodesField() {
    return *findField("nodes");
}

} // namespace

QWidget *PlanPage::buildWhere(QWidget *parent) {
    auto *row = new QWidget(parent);
    auto *line = new QHBoxLayout(row);
    line->setContentsMargins(0, 0, grid, 0);
    line->setSpacing(grid);
    auto *label = new QLabel(tr("Runs on"), row);
    label->setFixedWidth(22 * grid);
    label->setToolTip(tr("This machine's devices, or any mix of devices of the nodes that were added"));
    line->addWidget(label);
    m_where = new PlaceSwitch(row);
    line->addWidget(m_where, 4);
    line->addStretch(0);
    connect(m_where, &PlaceSwitch::chosen, this, &PlanPage::runOverNodes);
    return row;
}

void PlanPage::buildNodes(QWidget *parent) {
    m_asker = new SshAsker(this);
    m_nodes = new NodePicker(m_theme, *m_asker, parent);
    m_doctor = new PlanDoctor(*m_asker, parent);
    m_queuePlace = new QueuePlace(parent);
    m_nodes->hide();
    m_queuePlace->hide();
    m_doctor->hide();
    connect(m_asker, &SshAsker::failed, this, &PlanPage::failed);
    connect(m_nodes, &NodePicker::failed, this, &PlanPage::failed);
    connect(m_doctor, &PlanDoctor::failed, this, &PlanPage::failed);
    connect(m_nodes, &NodePicker::nodesWanted, this, &PlanPage::nodesWanted);
    connect(m_nodes, &NodePicker::chosen, this, [this](const std::vector<NodePlace> &places) {
        m_draft.set(nodesField(), toText(places));
        refresh();
    });
    connect(m_doctor, &PlanDoctor::finished, this, &PlanPage::doctorAnswered);
    connect(m_doctor, &PlanDoctor::stopped, this, [this] {
        m_startWhenAsked = false;
        restyle();
    });
}

QPushButton *PlanPage::hereButton() const {
    return m_where->here();
}

QPushButton *PlanPage::nodesButton() const {
    return m_where->nodes();
}

/// Back and forth keeps what was chosen.
void PlanPage::runOverNodes(bool on) {
    if (on == m_overNodes)
        return;
    m_overNodes = on;
    if (!on) {
        m_keptNodes = m_draft.value(nodesField()).value_or("");
        m_draft.set(nodesField(), "");
    } else {
        m_draft.set(nodesField(), m_keptNodes);
        m_nodes->refresh();
    }
    refresh();
}

std::vector<NodePlace> PlanPage::chosenPlaces() const {
    return nodesFromText(m_draft.value(nodesField()).value_or("")).value_or(std::vector<NodePlace>());
}

/// Whoever writes places into the form, or duplicates a run over nodes, has chosen nodes too.
void PlanPage::showNodes(const core::Plan *plan) {
    if (!m_draft.value(nodesField()).value_or("").empty())
        m_overNodes = true;
    m_where->setOverNodes(m_overNodes);
    m_devices->setVisible(!m_overNodes);
    m_nodes->setVisible(m_overNodes);
    const std::vector<NodePlace> places = m_overNodes ? chosenPlaces() : std::vector<NodePlace>();
    m_command->setFixedHeight(places.size() > 1 ? 144 : 80);
    m_doctor->setVisible(!places.empty());
    m_queuePlace->show(places, m_nodes->book());
    if (!m_overNodes)
        return;
    const RunConfig *widest = nullptr;
    for (std::size_t i = 0; plan && i < plan->runs.size(); ++i) {
        const core::PlannedRun &run = plan->runs[i];
        if (run.runnable() && (!widest || processCount(run.config) > processCount(*widest)))
            widest = &run.config;
    }
    m_nodes->show(places, widest);
    if (widest)
        m_nodes->setCoresPerDevice(widest->coresPerDevice);
    const FieldSpec *dataset = findField("dataset"), *folder = findField("data_dir");
    const bool own = !m_draft.value(*folder).value_or("").empty();
    m_doctor->setRun(core::entriesOf(places, m_nodes->book()), own ? "" : m_draft.value(*dataset).value_or(""));
    // Without interfaces no run over hosts is right: they are looked for as soon as they are wanted.
    if (core::lacksInterface(places, m_nodes->book()) && !m_doctor->asked() && isVisible())
        m_doctor->examine();
}

QString PlanPage::whyNoNodes() const {
    if (!m_overNodes || !chosenPlaces().empty() || !m_draft.value(nodesField()).value_or("").empty())
        return {};
    return m_nodes->book().empty() ? tr("There is no node to run on yet.")
                                   : tr("Choose at least one device of a node; the first one chosen is the master.");
}

bool PlanPage::reachesThisMachine() const {
    const std::vector<NodePlace> places = chosenPlaces();
    return !m_overNodes ||
           std::any_of(places.begin(), places.end(), [](const NodePlace &place) { return place.host.empty(); });
}

void PlanPage::doctorAnswered() {
    m_nodes->refresh(); // interfaces that were found come into the plan
    m_nodes->setAddresses(m_doctor->addresses());
    m_nodes->lookAgain();
    refresh();
    const bool start = std::exchange(m_startWhenAsked, false);
    restyle();
    if (start && !m_doctor->anyError())
        this->start();
}

/// Over nodes the doctor is asked first; what would stop the run is told, and a second press starts all the same.
bool PlanPage::mayStart() {
    if (!m_overNodes || m_doctor->asked())
        return true;
    m_doctor->examine();
    m_startWhenAsked = m_doctor->looking(); // of places that no list of nodes knows there is nothing to ask
    restyle();
    return !m_startWhenAsked;
}

QString PlanPage::startWords() const {
    if (m_workspace.starter().starting())
        return tr("Starting…");
    if (m_startWhenAsked)
        return tr("Asking the doctor…");
    return m_overNodes && m_doctor->asked() && m_doctor->anyError() ? tr("Start anyway") : tr("Start");
}

} // namespace lockstep::ui
