// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/run_nodes_card.h"

#include <QVBoxLayout>

#include "app/ui/pages/shared/run_nodes_view.h"

namespace lockstep::ui {

RunNodesCard::RunNodesCard(const Theme &theme, QWidget *parent)
    : Card(RunNodesView::title(), parent), m_nodes(new RunNodesView(theme, this)) {
    setToolTip(RunNodesView::explanation());
    body()->addWidget(m_nodes, 1);
    hide();
}

void RunNodesCard::setRuns(const std::vector<const core::RunStore *> &runs) {
    m_nodes->setRuns(runs);
    setNote(m_nodes->runTitle());
    setVisible(!m_nodes->isEmpty());
}

} // namespace lockstep::ui

#include "moc_run_nodes_card.cpp"
