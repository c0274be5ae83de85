// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "app/ui/widgets/card.h"

class QLabel;

namespace lockstep::core {
class RunStore;
}

namespace lockstep::ui {
class ChartSource;
class Theme;
class TopologyView;

/// The nodes of a run: what stands where, who sends how much to whom, and the agents' links told apart from the run's own state.
/// Hidden while no run that is shown has several nodes.
class RunNodesCard : public Card {
    Q_OBJECT
public:
    explicit RunNodesCard(const Theme &theme, QWidget *parent = nullptr);
    /// Of several runs over nodes it shows the one that goes on, else the last.
    void setRuns(const std::vector<const core::RunStore *> &runs);
    [[nodiscard]] bool isEmpty() const { return m_none; }
    [[nodiscard]] TopologyView *view() const { return m_view; }
    [[nodiscard]] QString stateText() const;
    [[nodiscard]] QString linksText() const;

private:
    TopologyView *m_view;
    QLabel *m_state, *m_links;
    bool m_none = true;
};

} // namespace lockstep::ui
