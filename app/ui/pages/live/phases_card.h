// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class PhaseBars;
class Theme;

/// The phases of a mean step, a bar for each rank of every run that is shown.
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
