// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/plan_places.h"

#include <QLabel>

#include <algorithm>
#include <utility>

#include "app/ui/pages/plan/queue_place.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/place_switch.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/field_row.h"
#include "nodes/node_choice.h"

namespace lockstep::ui {
namespace {

const FieldSpec &nodesField() {
    return *findField("nodes");
}

} // namespace

PlanPlaces::PlanPlaces(const Theme &theme, PlanDraft &draft, QWidget *card, QWidget *scrolled)
    : QObject(card), m_draft(draft) {
    makeSwitch(card);
    m_devices = new DevicePicker(theme, card);
    connect(m_devices, &DevicePicker::chosen, this, [this](const QString &kind, const QStringList &devices) {
        m_draft.set(*findField("device"), kind.toStdString());
        m_draft.set(*findField("devices"), devices.join(QLatin1Char(',')).toStdString());
        Q_EMIT edited();
    });
    makeNodes(theme, scrolled);
}

void PlanPlaces::makeSwitch(QWidget *parent) {
    auto *label = new QLabel(tr("Runs on"));
    label->setToolTip(tr("This machine's devices, or those of the added nodes"));
    auto *row = new FieldRow(label, parent);
    m_where = new PlaceSwitch(row);
    row->addEditor(m_where);
    m_row = row;
    connect(m_where, &PlaceSwitch::chosen, this, &PlanPlaces::runOverNodes);
}

void PlanPlaces::makeNodes(const Theme &theme, QWidget *parent) {
    m_asker = new SshAsker(parent);
    m_nodes = new NodePicker(theme, *m_asker, parent);
    m_doctor = new PlanDoctor(*m_asker, parent);
    m_queuePlace = new QueuePlace(parent);
    m_nodes->hide();
    m_queuePlace->hide();
    m_doctor->hide();
    connect(m_asker, &SshAsker::failed, this, &PlanPlaces::failed);
    connect(m_nodes, &NodePicker::failed, this, &PlanPlaces::failed);
    connect(m_doctor, &PlanDoctor::failed, this, &PlanPlaces::failed);
    connect(m_nodes, &NodePicker::nodesWanted, this, &PlanPlaces::nodesWanted);
    connect(m_nodes, &NodePicker::chosen, this, [this](const std::vector<NodePlace> &places) {
        m_draft.set(nodesField(), toText(places));
        Q_EMIT edited();
    });
    connect(m_doctor, &PlanDoctor::finished, this, &PlanPlaces::answered);
    connect(m_doctor, &PlanDoctor::stopped, this, [this] {
        m_startWhenAsked = false;
        Q_EMIT changed();
    });
}

/// Switching back and forth keeps the chosen places.
void PlanPlaces::runOverNodes(bool on) {
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
    Q_EMIT edited();
}

void PlanPlaces::reset() {
    m_overNodes = false;
}

std::vector<NodePlace> PlanPlaces::places() const {
    if (!m_overNodes)
        return {};
    return nodesFromText(m_draft.value(nodesField()).value_or("")).value_or(std::vector<NodePlace>());
}

void PlanPlaces::show(const core::Plan *plan) {
    showNodes(plan);
    if (plan && whyNone().isEmpty())
        showDevices(*plan);
}

/// Writing places into the form, or duplicating a run over nodes, chooses nodes too.
void PlanPlaces::showNodes(const core::Plan *plan) {
    if (!m_draft.value(nodesField()).value_or("").empty())
        m_overNodes = true;
    m_where->setOverNodes(m_overNodes);
    m_devices->setVisible(!m_overNodes);
    m_nodes->setVisible(m_overNodes);
    const std::vector<NodePlace> places = this->places();
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
    // Without interfaces no run over hosts is right: the doctor finds them as soon as they are wanted.
    if (core::lacksInterface(places, m_nodes->book()) && !m_doctor->asked() && m_where->isVisible())
        m_doctor->examine();
}

/// Shows the devices of the runnable runs, with as many cores per CPU device as in the plan.
void PlanPlaces::showDevices(const core::Plan &plan) {
    QString kind;
    QStringList devices;
    for (const core::PlannedRun &run : plan.runs) {
        if (!run.runnable())
            continue;
        kind = QString::fromStdString(run.config.device);
        m_devices->setCoresPerDevice(run.config.coresPerDevice);
        for (const std::string &device : run.config.devices)
            if (const QString name = QString::fromStdString(device); !devices.contains(name))
                devices << name;
    }
    m_devices->setChosen(kind, devices);
}

QString PlanPlaces::whyNone() const {
    if (!m_overNodes || !places().empty() || !m_draft.value(nodesField()).value_or("").empty())
        return {};
    return m_nodes->book().empty() ? tr("No node to run on yet.")
                                   : tr("Choose at least one device; the first node chosen is the master.");
}

bool PlanPlaces::reachesThisMachine() const {
    const std::vector<NodePlace> places = this->places();
    return !m_overNodes ||
           std::any_of(places.begin(), places.end(), [](const NodePlace &place) { return place.host.empty(); });
}

void PlanPlaces::answered() {
    m_nodes->refresh(); // interfaces that were found come into the plan
    m_nodes->setAddresses(m_doctor->addresses());
    m_nodes->probeAgain();
    Q_EMIT edited();
    const bool start = std::exchange(m_startWhenAsked, false);
    Q_EMIT changed();
    if (start && !m_doctor->anyError())
        Q_EMIT allowed();
}

bool PlanPlaces::mayStart() {
    if (!m_overNodes || m_doctor->asked())
        return true;
    m_doctor->examine();
    m_startWhenAsked = m_doctor->examining(); // places outside the list of nodes cannot be examined
    Q_EMIT changed();
    return !m_startWhenAsked;
}

bool PlanPlaces::warned() const {
    return m_overNodes && m_doctor->asked() && m_doctor->anyError();
}

} // namespace lockstep::ui

#include "moc_plan_places.cpp"
