// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"
#include "nodes/doctor.h"

class QComboBox;
class QLabel;

namespace lockstep::ui {
class Theme;
class TopologyView;

/// The nodes and the links between them, with the traffic of a chosen method and model, and the least time of
/// a step's communication.
class TopologyCard : public Card {
    Q_OBJECT
public:
    explicit TopologyCard(const Theme &theme, QWidget *parent = nullptr);
    void show(core::DoctorSnapshot snapshot);
    [[nodiscard]] TopologyView *view() const { return m_view; }

private:
    void draw();

    core::DoctorSnapshot m_snapshot;
    QComboBox *m_method, *m_model, *m_devices;
    TopologyView *m_view;
    QLabel *m_text;
};

} // namespace lockstep::ui
