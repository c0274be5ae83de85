// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <string>
#include <vector>

#include "ipc/placement.h"

namespace lockstep::ui {
class NodePicker;
class PlaceSwitch;
class PlanDoctor;
class SshAsker;
class Theme;

/// The devices between which the lab measures: this machine's, or those of nodes in the book, which the doctor examines first.
/// Starts with the places of the running lab, or of the newest one over nodes.
class LabPlaces : public QWidget {
    Q_OBJECT
public:
    explicit LabPlaces(const Theme &theme, QWidget *parent = nullptr);
    [[nodiscard]] bool overNodes() const;
    /// Empty: this machine, or no device is chosen yet (whyNot()).
    [[nodiscard]] std::vector<NodePlace> places() const;
    [[nodiscard]] std::string device() const; ///< "cuda" when all chosen devices are GPUs, else "cpu"
    /// Why nothing can be measured between these; empty when it can.
    [[nodiscard]] QString whyNot() const;
    [[nodiscard]] bool noNode() const; ///< nodes are wanted and the book has none: one must be added
    /// Whether to measure now. If not, the doctor examines first, and `allowed` follows if it finds no obstacle.
    [[nodiscard]] bool mayMeasure();
    [[nodiscard]] bool asking() const { return m_asking; }
    [[nodiscard]] bool warned() const; ///< the doctor has examined these, and measuring would fail
    void setOverNodes(bool on);
    void show(const std::vector<NodePlace> &places); ///< chooses them, and nodes; emits nothing

    [[nodiscard]] PlaceSwitch *where() const { return m_where; }
    [[nodiscard]] NodePicker *nodePicker() const { return m_nodes; }
    [[nodiscard]] PlanDoctor *doctor() const { return m_doctor; }

Q_SIGNALS:
    void chosen();  ///< other places, or news about them
    void allowed(); ///< the postponed measurement may begin
    void nodesWanted();
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;

private:
    void restyle();
    void answered();

    SshAsker *m_asker;
    PlaceSwitch *m_where;
    NodePicker *m_nodes;
    PlanDoctor *m_doctor;
    std::vector<NodePlace> m_places;
    bool m_overNodes = false, m_asking = false;
};

} // namespace lockstep::ui
