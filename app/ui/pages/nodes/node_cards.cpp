// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/node_cards.h"

#include <QGridLayout>

#include <algorithm>

#include "app/ui/pages/nodes/node_card.h"
#include "app/ui/pages/shared/ssh_asker.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr int cardWidth = 62 * grid; ///< at least, when several stand beside each other

} // namespace

NodeCards::NodeCards(Theme &theme, SshAsker &asker, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_asker(asker), m_grid(new QGridLayout(this)) {
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(2 * grid);
}

NodeCard *NodeCards::card(const QString &node) const {
    const auto found = m_cards.find(node.toStdString());
    return found == m_cards.end() ? nullptr : found->second;
}

bool NodeCards::waiting() const {
    return std::any_of(m_watches.begin(), m_watches.end(), [](const auto &one) {
        return !one.second->complete() && one.second->snapshot().trouble == core::NodeTrouble::None;
    });
}

void NodeCards::setNodes(const std::vector<core::NodeEntry> &nodes) {
    if (nodes == m_nodes)
        return;
    m_nodes = nodes;
    for (const auto &[name, card] : m_cards)
        card->deleteLater(); // its own button may have caused this call
    m_cards.clear();
    for (const core::NodeEntry &node : m_nodes)
        m_cards[node.name] = makeCard(node);
    m_columns = 0;
    place(m_pageWidth);
    std::erase_if(m_watches, [this](const auto &one) {
        return std::none_of(m_nodes.begin(), m_nodes.end(),
                            [&](const core::NodeEntry &node) { return node == one.second->snapshot().node; });
    });
    if (isVisible())
        watchAll();
    for (const auto &[name, watch] : m_watches)
        showSnapshot(name);
}

NodeCard *NodeCards::makeCard(const core::NodeEntry &node) {
    auto *card = new NodeCard(m_theme, node, this);
    connect(card, &NodeCard::syncWanted, this, [this, node] { Q_EMIT syncWanted(node); });
    connect(card, &NodeCard::removeWanted, this, [this, node] { Q_EMIT removeWanted(node); });
    connect(card, &NodeCard::againWanted, this, [this, node] { watch(node); });
    connect(card, &NodeCard::interfaceChosen, this,
            [this, node](const QString &interface) { Q_EMIT interfaceChosen(node, interface); });
    return card;
}

void NodeCards::place(int pageWidth) {
    m_pageWidth = pageWidth;
    const int columns = std::clamp(pageWidth / cardWidth, 1, std::max(1, int(m_nodes.size())));
    if (columns == m_columns)
        return;
    m_columns = columns;
    while (QLayoutItem *item = m_grid->takeAt(0))
        delete item;
    for (int column = 0; column < std::max(columns, m_grid->columnCount()); ++column) {
        m_grid->setColumnStretch(column, column < columns ? 1 : 0);
        m_grid->setColumnMinimumWidth(column, 0);
    }
    int at = 0;
    for (const core::NodeEntry &node : m_nodes) {
        m_grid->addWidget(m_cards[node.name], at / columns, at % columns);
        ++at;
    }
}

void NodeCards::watchAll() {
    for (const core::NodeEntry &node : m_nodes)
        if (!m_watches.contains(node.name))
            watch(node);
}

void NodeCards::unwatchAll() {
    m_watches.clear();
}

void NodeCards::watch(const core::NodeEntry &node) {
    auto &watch = m_watches[node.name];
    watch = std::make_unique<core::NodeWatch>(node, m_asker.answers());
    connect(watch.get(), &core::NodeWatch::changed, this, [this, name = node.name] { showSnapshot(name); });
    watch->start();
    showSnapshot(node.name);
}

void NodeCards::showSnapshot(const std::string &name) {
    const auto watch = m_watches.find(name);
    const auto card = m_cards.find(name);
    if (watch == m_watches.end() || card == m_cards.end())
        return;
    card->second->setSnapshot(watch->second->snapshot(), watch->second->live());
    Q_EMIT snapshotChanged();
}

core::DoctorSnapshot NodeCards::snapshot() const {
    core::DoctorSnapshot out;
    for (const core::NodeEntry &node : m_nodes) {
        const auto watch = m_watches.find(node.name);
        core::NodeSnapshot one;
        one.node = node;
        out.nodes.push_back(watch == m_watches.end() ? one : watch->second->snapshot());
    }
    return out;
}

} // namespace lockstep::ui

#include "moc_node_cards.cpp"
