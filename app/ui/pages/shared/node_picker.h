// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <map>
#include <string>
#include <vector>

#include "ipc/run_config.h"
#include "nodes/node_book.h"

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace lockstep::ui {
class DevicePicker;
class SshAsker;
class Theme;

/// The nodes of the book with their devices as boxes, for placing a run. Shows each node's part in the run
/// (node number, master, ranks) and its interface. The first chosen node is node 0.
class NodePicker : public QWidget {
    Q_OBJECT
public:
    /// One node: its name, its part in the run, its interface, its devices.
    struct Row {
        core::NodeEntry node;
        QWidget *box = nullptr;
        QLabel *name = nullptr, *part = nullptr, *way = nullptr;
        DevicePicker *devices = nullptr; ///< absent where a run can't be put from here
    };

    NodePicker(const Theme &theme, SshAsker &asker, QWidget *parent = nullptr);
    /// Shows where the run goes; emits nothing. `run`: the one whose ranks are shown, which has the most; null: none can run.
    void show(const std::vector<NodePlace> &places, const RunConfig *run);
    void setCoresPerDevice(int cores);
    /// Reads the book again; places follow it (`chosen` may be emitted).
    void refresh();
    void probeAgain(); ///< nodes that reported no device
    /// Node's name → address, as the doctor found it.
    void setAddresses(std::map<std::string, std::string> addresses);

    [[nodiscard]] const std::vector<core::NodeEntry> &book() const { return m_book; }
    [[nodiscard]] const std::vector<NodePlace> &places() const { return m_places; }
    [[nodiscard]] const std::vector<Row> &rows() const { return m_rows; }
    [[nodiscard]] const Row *row(const QString &node) const;
    [[nodiscard]] QPushButton *addButton() const { return m_add; }
    [[nodiscard]] bool probing() const; ///< a shown node has not reported its devices yet

Q_SIGNALS:
    void chosen(const std::vector<lockstep::NodePlace> &places);
    void nodesWanted(); ///< a person wants to add one
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;

private:
    void makeRows();
    Row makeRow(const core::NodeEntry &node);
    void restyle();

    const Theme &m_theme;
    SshAsker &m_asker;
    std::vector<core::NodeEntry> m_book;
    std::vector<NodePlace> m_places;
    std::vector<Row> m_rows;
    std::map<std::string, std::string> m_addresses;
    RunConfig m_run;
    bool m_hasRun = false;
    int m_coresPerDevice = 1;
    QVBoxLayout *m_layout;
    QWidget *m_empty;
    QLabel *m_others;
    QPushButton *m_add;
};

} // namespace lockstep::ui
