// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <map>
#include <memory>
#include <vector>

#include "nodes/doctor.h"
#include "nodes/node_watch.h"

class QGridLayout;

namespace lockstep::ui {
class NodeCard;
class SshAsker;
class Theme;

/// One card per node, in as many columns as fit, and the watches that update them.
class NodeCards : public QWidget {
    Q_OBJECT
public:
    NodeCards(Theme &theme, SshAsker &asker, QWidget *parent = nullptr);

    void setNodes(const std::vector<core::NodeEntry> &nodes);
    [[nodiscard]] const std::vector<core::NodeEntry> &nodes() const { return m_nodes; }
    [[nodiscard]] NodeCard *card(const QString &node) const;
    void place(int pageWidth); ///< as many columns as fit
    void watchAll();
    void unwatchAll();
    /// Whether a watched node has not said all yet.
    [[nodiscard]] bool waiting() const;
    /// The latest snapshot of each node.
    [[nodiscard]] core::DoctorSnapshot snapshot() const;

Q_SIGNALS:
    void snapshotChanged();
    void syncWanted(const lockstep::core::NodeEntry &node);
    void removeWanted(const lockstep::core::NodeEntry &node);
    void interfaceChosen(const lockstep::core::NodeEntry &node, const QString &interface);

private:
    NodeCard *makeCard(const core::NodeEntry &node);
    void watch(const core::NodeEntry &node);
    void showSnapshot(const std::string &name);

    Theme &m_theme;
    SshAsker &m_asker;
    QGridLayout *m_grid;
    std::vector<core::NodeEntry> m_nodes;
    std::map<std::string, NodeCard *> m_cards;
    std::map<std::string, std::unique_ptr<core::NodeWatch>> m_watches;
    int m_columns = 0, m_pageWidth = 0;
};

} // namespace lockstep::ui
