// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "app/ui/widgets/card.h"

namespace lockstep::core {
class RunStore;
}

namespace lockstep::ui {
class RunNodesView;
class Theme;

/// The nodes of a run in a card, which is hidden while no run has several.
class RunNodesCard : public Card {
    Q_OBJECT
public:
    explicit RunNodesCard(const Theme &theme, QWidget *parent = nullptr);
    void setRuns(const std::vector<const core::RunStore *> &runs);
    [[nodiscard]] RunNodesView *nodes() const { return m_nodes; }

private:
    RunNodesView *m_nodes;
};

} // namespace lockstep::ui
