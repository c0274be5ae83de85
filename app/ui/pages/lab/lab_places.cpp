// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_places.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/place_switch.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "ipc/run_config.h"
#include "lab/lab_job.h"
#include "lab/lab_record.h"
#include "nodes/node_choice.h"

namespace lockstep::ui {
namespace {

constexpr int widest = 120 * grid; ///< px: boxes of devices, and sentences, stay near their names

/// Ranks as the lab numbers them: one a device, node by node.
RunConfig rankEachDevice(const std::vector<NodePlace> &places) {
    RunConfig config;
    config.method = Method::Ddp;
    config.nodes = places;
    return config;
}

std::vector<NodePlace> lastOverNodes() {
    if (const auto running = core::runningLab(); running && !running->nodes.empty())
        return running->nodes;
    const auto lab = core::newestLabThat([](const core::LabRecord &record) { return !record.nodes.empty(); });
    return lab ? lab->nodes : std::vector<NodePlace>();
}

} // namespace

LabPlaces::LabPlaces(const Theme &theme, QWidget *parent)
    : QWidget(parent), m_asker(new SshAsker(this)), m_where(new PlaceSwitch(this)),
      m_nodes(new NodePicker(theme, *m_asker, this)), m_doctor(new PlanDoctor(*m_asker, this)) {
    auto *rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(grid + grid / 2);
    auto *line = new QHBoxLayout;
    line->setSpacing(2 * grid);
    auto *label = new QLabel(tr("Devices of"), this);
    line->addWidget(label);
    m_where->setFixedWidth(32 * grid);
    line->addWidget(m_where);
    line->addStretch(1);
    rows->addLayout(line);
    auto *column = new QWidget(this);
    column->setMaximumWidth(widest);
    auto *parts = new QVBoxLayout(column);
    parts->setContentsMargins(0, 0, 0, 0);
    parts->setSpacing(grid + grid / 2);
    parts->addWidget(m_nodes);
    parts->addWidget(m_doctor);
    auto *beside = new QHBoxLayout; // asks for the height at the width that the column gets, not at its own
    beside->addWidget(column, 1000);
    beside->addStretch(1);
    rows->addLayout(beside);
    m_doctor->setSubject(tr("The doctor checks these nodes before measuring."), tr("the lab"));
    connect(m_where, &PlaceSwitch::chosen, this, [this](bool on) {
        setOverNodes(on);
        Q_EMIT chosen();
    });
    connect(m_nodes, &NodePicker::chosen, this, [this](const std::vector<NodePlace> &places) {
        m_places = places;
        restyle();
        Q_EMIT chosen();
    });
    connect(m_nodes, &NodePicker::nodesWanted, this, &LabPlaces::nodesWanted);
    connect(m_doctor, &PlanDoctor::finished, this, &LabPlaces::answered);
    connect(m_doctor, &PlanDoctor::stopped, this, [this] {
        m_asking = false;
        Q_EMIT chosen();
    });
    connect(m_asker, &SshAsker::failed, this, &LabPlaces::failed);
    connect(m_nodes, &NodePicker::failed, this, &LabPlaces::failed);
    connect(m_doctor, &PlanDoctor::failed, this, &LabPlaces::failed);
    if (const auto running = core::runningLab(); running && !running->nodes.empty())
        show(running->nodes);
    restyle();
}

bool LabPlaces::overNodes() const {
    return m_overNodes;
}

std::vector<NodePlace> LabPlaces::places() const {
    return m_overNodes ? m_places : std::vector<NodePlace>();
}

std::string LabPlaces::device() const {
    if (!m_overNodes) // what a run's "auto" takes
        return core::localMachineFacts().gpuUuids.size() >= 2 ? "cuda" : "cpu";
    const auto gpus = [](const NodePlace &place) { return place.device == "cuda"; };
    return !m_places.empty() && std::all_of(m_places.begin(), m_places.end(), gpus) ? "cuda" : "cpu";
}

QString LabPlaces::whyNot() const {
    if (!m_overNodes)
        return {};
    if (noNode())
        return tr("No node to measure yet.");
    std::size_t devices = 0;
    for (const NodePlace &place : m_places)
        devices += place.devices.size();
    return devices < 2 ? tr("Choose at least two devices; the first node chosen is the master.") : QString();
}

bool LabPlaces::noNode() const {
    return m_overNodes && m_nodes->book().empty() && m_places.empty();
}

bool LabPlaces::warned() const {
    return m_overNodes && m_doctor->asked() && m_doctor->anyError();
}

bool LabPlaces::mayMeasure() {
    if (!m_overNodes || m_doctor->asked())
        return true;
    m_doctor->examine();
    m_asking = m_doctor->examining(); // places outside the list of nodes cannot be examined
    return !m_asking;
}

void LabPlaces::setOverNodes(bool on) {
    m_overNodes = on;
    if (on && m_places.empty())
        m_places = lastOverNodes();
    if (on)
        m_nodes->refresh();
    restyle();
}

void LabPlaces::show(const std::vector<NodePlace> &places) {
    m_places = places;
    setOverNodes(true);
}

void LabPlaces::answered() {
    m_nodes->refresh(); // interfaces that were found come into the places
    m_nodes->setAddresses(m_doctor->addresses());
    m_nodes->probeAgain();
    restyle();
    const bool go = std::exchange(m_asking, false) && !m_doctor->anyError();
    Q_EMIT chosen();
    if (go)
        Q_EMIT allowed();
}

void LabPlaces::restyle() {
    m_where->setOverNodes(m_overNodes);
    m_nodes->setVisible(m_overNodes && !noNode());
    m_doctor->setVisible(m_overNodes && !m_places.empty());
    if (!m_overNodes)
        return;
    const RunConfig ranks = rankEachDevice(m_places);
    m_nodes->show(m_places, m_places.empty() ? nullptr : &ranks);
    m_doctor->setRun(core::entriesOf(m_places, m_nodes->book()), "");
    // Without interfaces nothing reaches over hosts: the doctor finds them as soon as they are wanted.
    if (core::lacksInterface(m_places, m_nodes->book()) && !m_doctor->asked() && isVisible())
        m_doctor->examine();
}

void LabPlaces::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    restyle();
}

} // namespace lockstep::ui

#include "moc_lab_places.cpp"
