// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/topology_card.h"

#include <QComboBox>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/charts/topology_view.h"
#include "app/ui/theme/theme.h"
#include "base/format.h"
#include "ipc/models.h"
#include "models/cells.h"

namespace lockstep::ui {

using core::qs;

TopologyCard::TopologyCard(const Theme &theme, QWidget *parent) : Card(tr("Topology"), parent) {
    m_method = new QComboBox(this);
    for (const MethodSpec &method : methodTable)
        if (sendsGradients(method.traffic)) {
            m_method->addItem(qs(method.label), qs(method.name));
            m_method->setItemData(m_method->count() - 1, qs(sentenceOf(method.traffic)), Qt::ToolTipRole);
        }
    m_method->setAccessibleName(tr("Method"));
    m_method->setToolTip(tr("Method whose traffic is drawn"));
    m_model = new QComboBox(this);
    for (const ModelSpec &model : modelTable)
        m_model->addItem(qs(model.name));
    m_model->setCurrentIndex(
        int(std::ranges::max_element(modelTable, {}, &ModelSpec::parameters) - modelTable.begin()));
    m_model->setAccessibleName(tr("Model"));
    m_model->setToolTip(tr("Model whose gradients are sent once a step"));
    m_devices = new QComboBox(this);
    for (const int count : {1, 2, 4, 8, 16})
        m_devices->addItem(count == 1 ? tr("1 device a node") : tr("%1 devices a node").arg(count), count);
    m_devices->setCurrentIndex(1);
    m_devices->setAccessibleName(tr("Devices a node"));
    m_devices->setToolTip(tr("Devices used on each node, if it has so many"));
    m_view = new TopologyView(theme, this);
    m_text = makeLabel({}, "secondary", this);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    body()->addWidget(m_view);
    body()->addWidget(m_text);
    for (QComboBox *box : {m_method, m_model, m_devices}) {
        addTool(box);
        connect(box, &QComboBox::currentIndexChanged, this, &TopologyCard::draw);
    }
}

void TopologyCard::show(core::DoctorSnapshot snapshot) {
    m_snapshot = std::move(snapshot);
    draw();
}

void TopologyCard::draw() {
    core::Topology topology = core::topologyOf(m_snapshot);
    const double gradients = core::gradientBytesOf(m_model->currentText().toStdString()).value_or(0);
    core::putOn(topology, m_method->currentData().toString().toStdString(), gradients,
                m_devices->currentData().toInt());
    const int ranks = topology.worldSize();
    const auto least = topology.leastStepS();
    const QString sentence = ranks < 2      ? tr("No traffic: fewer than two devices can be used.")
                             : least == 0.0 ? tr("%1 ranks on one node: nothing crosses between nodes.").arg(ranks)
                             : !least ? tr("%1 ranks. Run the doctor for a step's least communication time.").arg(ranks)
                                      : tr("%1 ranks, %2 of gradients: a step's communication takes %3 or more.")
                                            .arg(ranks)
                                            .arg(core::bytes(gradients), core::shortTime(least));
    m_text->setText(sentence);
    m_view->setTopology(std::move(topology));
}

} // namespace lockstep::ui

#include "moc_topology_card.cpp"
