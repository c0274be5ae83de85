// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/nodes_card.h"

#include <QVBoxLayout>

#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/live/shown_runs.h"
#include "app/ui/pages/shared/run_nodes_view.h"

namespace lockstep::ui {

using core::RunStore;

NodesCard::NodesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent)
    : LiveCard(RunNodesView::title(), shown, Changes(RunStore::Link) | RunStore::State | RunStore::Record, parent),
      m_nodes(new RunNodesView(theme, this)) {
    setToolTip(RunNodesView::explanation());
    body()->addWidget(m_nodes, 1);
}

bool NodesCard::isBlank() const {
    return m_nodes->isEmpty();
}

ChartSource *NodesCard::picture() const {
    return m_nodes->topology();
}

void NodesCard::draw(Changes) {
    std::vector<const RunStore *> runs;
    for (const RunStyle &style : shown().styles())
        if (style.shown)
            runs.push_back(&shown().storeOf(style));
    m_nodes->setRuns(runs);
    setNote(m_nodes->runTitle());
}

} // namespace lockstep::ui

#include "moc_nodes_card.cpp"
