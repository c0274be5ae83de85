// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <vector>

#include "nodes/node_book.h"

class QLabel;
class QPushButton;

namespace lockstep::ui {
class Card;
class ChartSource;
class DoctorCard;
class EmptyState;
class NodeCard;
class NodeCards;
class NodeListEditor;
class NodeSync;
class PageStack;
class SshAsker;
class Theme;
class TopologyCard;
class TopologyView;

/// Nodes: the machines for runs, live; the doctor's findings on them and on the links between them; syncs.
/// Watches the nodes only while the page is shown. Everything that waits for a host runs in the background.
class NodesPage : public QWidget {
    Q_OBJECT
public:
    explicit NodesPage(Theme &theme, QWidget *parent = nullptr);

    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] QPushButton *addButton() const { return m_add; }
    [[nodiscard]] QPushButton *doctorButton() const { return m_doctor; }
    [[nodiscard]] QPushButton *syncAllButton() const { return m_syncAll; }
    [[nodiscard]] EmptyState *emptyState() const { return m_empty; }
    [[nodiscard]] NodeCard *card(const QString &node) const;
    [[nodiscard]] TopologyView *topology() const;
    [[nodiscard]] QString doctorText() const;
    /// Whether a watched node has not answered yet, or the doctor is still examining.
    [[nodiscard]] bool waiting() const;
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Adds a node to the book, or a partition's nodes through lockstepctl, and shows it.
    void add(const core::NodeEntry &node);
    /// Examines every node and the links between them; again: stops.
    void examine();

Q_SIGNALS:
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    QWidget *buildBody(Theme &theme);
    Card *buildHead(QWidget *parent);
    void connectParts();
    void askForNode();
    void refresh(); ///< reads the book again
    void showTopology();
    void restyle();

    PageStack *m_stack;
    NodeListEditor *m_list;
    NodeSync *m_sync;
    SshAsker *m_asker; ///< declared after its users
    EmptyState *m_empty;
    QPushButton *m_add, *m_doctor, *m_syncAll;
    QLabel *m_about;
    NodeCards *m_cards;
    TopologyCard *m_topology;
    DoctorCard *m_examination;
};

} // namespace lockstep::ui
