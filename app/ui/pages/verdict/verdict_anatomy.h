// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"

namespace lockstep::core {
class RunSet;
struct ResultTable;
} // namespace lockstep::core

namespace lockstep::ui {
class AnatomyView;
class Theme;

/// The work of DP's device 0 while the others wait, beside DDP's ranks on the same time scale. Hidden without a DP run.
class VerdictAnatomy : public Card {
    Q_OBJECT
public:
    VerdictAnatomy(Theme &theme, core::RunSet &runs, QWidget *parent = nullptr);
    void refresh(const core::ResultTable &table); ///< of these runs
    [[nodiscard]] AnatomyView *view() const { return m_view; }

private:
    core::RunSet &m_runs;
    AnatomyView *m_view;
};

} // namespace lockstep::ui
