// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <string>
#include <vector>

#include "app/ui/pages/plan/plan_draft.h"

namespace lockstep::ui {
class DevicePicker;
class NodePicker;
class PlaceSwitch;
class PlanDoctor;
class QueuePlace;
class SshAsker;
class Theme;

/// Where a plan's runs go: this machine's devices, or devices of the nodes in the book, which the doctor examines first.
/// Writes the choice into the draft. The page places the parts, which are at several positions.
class PlanPlaces : public QObject {
    Q_OBJECT
public:
    /// Makes its parts: the switch and this machine's devices in `card`, what grows with the nodes in `scrolled`.
    PlanPlaces(const Theme &theme, PlanDraft &draft, QWidget *card, QWidget *scrolled);
    [[nodiscard]] QWidget *switchRow() const { return m_row; }
    [[nodiscard]] PlaceSwitch *where() const { return m_where; }
    [[nodiscard]] DevicePicker *devices() const { return m_devices; }
    [[nodiscard]] NodePicker *nodes() const { return m_nodes; }
    [[nodiscard]] PlanDoctor *doctor() const { return m_doctor; }
    [[nodiscard]] QueuePlace *queuePlace() const { return m_queuePlace; }

    /// Shows the draft's places and those of `plan`; null: the draft has mistakes.
    void show(const core::Plan *plan);
    void reset(); ///< back to this machine
    [[nodiscard]] bool overNodes() const { return m_overNodes; }
    [[nodiscard]] std::vector<NodePlace> places() const; ///< over nodes; else empty
    [[nodiscard]] QString whyNone() const;               ///< over nodes, and none is chosen; else empty
    [[nodiscard]] bool reachesThisMachine() const;
    /// Whether to start now. Over nodes the doctor examines first: `allowed` follows if it finds no obstacle.
    /// An obstacle is shown, and a second press starts nevertheless.
    [[nodiscard]] bool mayStart();
    [[nodiscard]] bool waiting() const { return m_startWhenAsked; } ///< for the doctor, to start then
    [[nodiscard]] bool warned() const; ///< the doctor has examined them, and a run would fail

Q_SIGNALS:
    void edited();  ///< the draft, or news about the nodes
    void changed(); ///< waiting(), warned()
    void allowed(); ///< the postponed start may begin
    void nodesWanted();
    void failed(const QString &sentence);

private:
    void makeSwitch(QWidget *parent);
    void makeNodes(const Theme &theme, QWidget *parent);
    void runOverNodes(bool on);
    void showNodes(const core::Plan *plan);
    void showDevices(const core::Plan &plan);
    void answered();

    PlanDraft &m_draft;
    QWidget *m_row;
    PlaceSwitch *m_where;
    DevicePicker *m_devices;
    SshAsker *m_asker;
    NodePicker *m_nodes;
    PlanDoctor *m_doctor;
    QueuePlace *m_queuePlace;
    std::string m_keptNodes; ///< chosen before this machine was
    bool m_overNodes = false, m_startWhenAsked = false;
};

} // namespace lockstep::ui
