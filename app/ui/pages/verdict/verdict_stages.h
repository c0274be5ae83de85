// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"

namespace lockstep::core {
class RunSet;
struct ResultTable;
} // namespace lockstep::core

namespace lockstep::ui {
class StageView;
class Theme;

/// When the stages of each pipeline compute in a mean step, of its median repeat. Hidden without a pipeline.
class VerdictStages : public Card {
    Q_OBJECT
public:
    VerdictStages(Theme &theme, core::RunSet &runs, QWidget *parent = nullptr);
    void refresh(const core::ResultTable &table); ///< of these runs
    [[nodiscard]] StageView *view() const { return m_view; }

private:
    core::RunSet &m_runs;
    StageView *m_view;
};

} // namespace lockstep::ui
