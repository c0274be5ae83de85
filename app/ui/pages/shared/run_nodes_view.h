// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <vector>

class QLabel;

namespace lockstep::core {
class RunStore;
}

namespace lockstep::ui {
class Theme;
class TopologyView;

/// The nodes of a run: their ranks, the traffic between them, and the state of the agents' links apart from
/// the run's own state.
class RunNodesView : public QWidget {
    Q_OBJECT
public:
    explicit RunNodesView(const Theme &theme, QWidget *parent = nullptr);
    // For the card around it.
    [[nodiscard]] static QString title();
    [[nodiscard]] static QString explanation();
    [[nodiscard]] QString runTitle() const { return m_runTitle; } ///< of the run that it shows

    /// Of several runs over nodes it shows the running one, else the last.
    void setRuns(const std::vector<const core::RunStore *> &runs);
    [[nodiscard]] bool isEmpty() const { return m_none; } ///< no run has several nodes
    [[nodiscard]] TopologyView *topology() const { return m_topology; }
    [[nodiscard]] QString stateText() const;
    [[nodiscard]] QString linksText() const;

private:
    TopologyView *m_topology;
    QLabel *m_state, *m_links;
    QString m_runTitle;
    bool m_none = true;
};

} // namespace lockstep::ui
