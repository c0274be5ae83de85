// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/run_nodes_view.h"

#include <QHBoxLayout>
#include <QLabel>

#include "app/ui/charts/topology_view.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "models/run_topology.h"
#include "store/recent_data.h"

namespace lockstep::ui {

QString RunNodesView::title() {
    return tr("Nodes");
}

QString RunNodesView::explanation() {
    return tr("Where the run's processes are, and what they send each other in a step. When an agent's link is lost, "
              "training continues");
}

RunNodesView::RunNodesView(const Theme &theme, QWidget *parent) : QWidget(parent) {
    m_topology = new TopologyView(theme, this);
    m_state = makeLabel({}, "", this);
    m_links = makeLabel({}, "secondary", this);
    m_links->setWordWrap(true);
    m_links->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto *line = new QHBoxLayout;
    line->setSpacing(3 * grid);
    line->addWidget(m_state, 0, Qt::AlignTop);
    line->addWidget(m_links, 1, Qt::AlignTop);
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(grid);
    column->addLayout(line);
    column->addWidget(m_topology, 1);
}

void RunNodesView::setRuns(const std::vector<const core::RunStore *> &runs) {
    const core::RunStore *chosen = nullptr;
    for (const core::RunStore *run : runs)
        if (core::hasSeveralNodes(*run) && (!chosen || chosen->over() || !run->over()))
            chosen = run;
    m_none = chosen == nullptr;
    if (m_none) {
        m_topology->setTopology({});
        return;
    }
    m_runTitle = chosen->identity().title();
    m_topology->setTopology(core::topologyOf(*chosen));
    m_state->setText(core::runLine(*chosen));
    const QString torch = core::torchSentence(*chosen->record());
    m_links->setText(torch.isEmpty() ? core::linksLine(*chosen) : core::linksLine(*chosen) + u'\n' + torch);
    setStyleProperty(m_links, "role",
                     core::linkToNodeLost(*chosen) || !core::whyNoRecentData(*chosen).isEmpty() ? "wrong"
                                                                                                : "secondary");
}

QString RunNodesView::stateText() const {
    return m_state->text();
}

QString RunNodesView::linksText() const {
    return m_links->text();
}

} // namespace lockstep::ui

#include "moc_run_nodes_view.cpp"
