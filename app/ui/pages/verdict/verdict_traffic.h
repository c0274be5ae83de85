// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/card.h"

namespace lockstep::core {
class RunSet;
struct ResultTable;
} // namespace lockstep::core

namespace lockstep::ui {
class BarChart;
class Theme;

/// What each rank sends to others in a step, as counted, beside what its method's formula says: a server beside a ring. Hidden unless runs
/// send in different ways, or a rank of one sends more than its others.
class VerdictTraffic : public Card {
    Q_OBJECT
public:
    VerdictTraffic(Theme &theme, core::RunSet &runs, QWidget *parent = nullptr);
    void refresh(const core::ResultTable &table); ///< of these runs
    [[nodiscard]] BarChart *chart() const { return m_chart; }

private:
    core::RunSet &m_runs;
    BarChart *m_chart;
};

} // namespace lockstep::ui
