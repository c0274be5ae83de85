// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <map>
#include <memory>
#include <vector>

#include "models/cell_table_model.h"
#include "nodes/doctor.h"
#include "nodes/node_watch.h"
#include "nodes/sync.h"

class QComboBox;
class QGridLayout;
class QLabel;
class QProcess;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {
class Card;
class ChartSource;
class EmptyState;
class FindingList;
class NodeCard;
class SshAsker;
class Theme;
class TopologyView;

/// Nodes: the machines that runs may be put on, live; what the doctor says of them and of the ways between them; what has to
/// be brought to them. Watches while the page is shown and no longer. Everything that waits for a host runs beside the window.
class NodesPage : public QWidget {
    Q_OBJECT
public:
    explicit NodesPage(Theme &theme, QWidget *parent = nullptr);
    ~NodesPage() override;

    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] QPushButton *addButton() const { return m_add; }
    [[nodiscard]] QPushButton *doctorButton() const { return m_doctor; }
    [[nodiscard]] QPushButton *syncAllButton() const { return m_syncAll; }
    [[nodiscard]] EmptyState *emptyState() const { return m_empty; }
    [[nodiscard]] NodeCard *card(const QString &node) const;
    [[nodiscard]] TopologyView *topology() const { return m_topology; }
    [[nodiscard]] FindingList *findings() const { return m_findings; }
    [[nodiscard]] QTableView *links() const { return m_links; }
    [[nodiscard]] QString doctorText() const;
    /// Whether a node that is watched has not answered yet, in good or bad, or the doctor still looks.
    [[nodiscard]] bool waiting() const;
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Adds a node to the book, or a partition's nodes through lockstepctl, and shows it.
    void add(const core::NodeEntry &node);
    /// Asks for what to add.
    void askForNode();
    /// Looks at every node and the ways between them; again: stops.
    void examine();
    void sync(const std::vector<core::NodeEntry> &nodes);
    /// Reads the book anew.
    void refresh();

Q_SIGNALS:
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    QWidget *buildBody();
    Card *buildHead(QWidget *parent);
    Card *buildTopology(QWidget *parent);
    Card *buildDoctor(QWidget *parent);
    void makeCards();
    NodeCard *makeCard(const core::NodeEntry &node);
    void placeCards();
    void watchAll();
    void watch(const core::NodeEntry &node);
    void showLook(const std::string &name);
    void showTopology();
    void examined(const core::DoctorLook &look, const std::vector<core::Finding> &findings);
    void synced(const core::SyncProgress &progress);
    void change(const core::NodeEntry &node, const QString &interface);
    void remove(const core::NodeEntry &node);
    void say(const Result<void> &result);

    Theme &m_theme;
    QStackedWidget *m_stack;
    EmptyState *m_empty;
    QPushButton *m_add, *m_doctor, *m_syncAll;
    QLabel *m_about, *m_doctorText, *m_topologyText;
    QGridLayout *m_cardGrid;
    QComboBox *m_method, *m_model, *m_devices;
    TopologyView *m_topology;
    FindingList *m_findings;
    QTableView *m_links;
    core::CellTableModel m_linkModel;
    std::vector<core::NodeEntry> m_nodes;
    std::map<std::string, NodeCard *> m_cards;
    std::map<std::string, std::unique_ptr<core::NodeWatch>> m_watches;
    SshAsker *m_asker;
    std::unique_ptr<core::DoctorJob> m_doctorJob;
    std::unique_ptr<core::SyncJob> m_syncJob;
    std::unique_ptr<QProcess> m_adding;
    core::DoctorLook m_look;                      ///< the doctor's last
    bool m_examined = false, m_cancelled = false; ///< the doctor has looked; it was told to stop
    int m_columns = 0;
};

} // namespace lockstep::ui
