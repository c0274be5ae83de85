// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"

namespace lockstep::ui {
class AnatomyView;
class Theme;
class Workspace;

/// What device 0 of DP does while the others wait, beside DDP's ranks on the same scale of time. Hidden without a run of DP.
class VerdictAnatomy : public Card {
    Q_OBJECT
public:
    VerdictAnatomy(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    void refresh();
    [[nodiscard]] AnatomyView *view() const { return m_view; }

private:
    Workspace &m_workspace;
    AnatomyView *m_view;
};

} // namespace lockstep::ui
