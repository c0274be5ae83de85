// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class PhaseBars;
class Theme;

/// The phases of a mean step, one bar per rank of every shown run.
class PhasesCard : public LiveCard {
    Q_OBJECT
public:
    PhasesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] PhaseBars *bars() const { return m_bars; }
    [[nodiscard]] ChartSource *picture() const override;

protected:
    void draw(Changes what) override;

private:
    PhaseBars *m_bars;
};

} // namespace lockstep::ui
