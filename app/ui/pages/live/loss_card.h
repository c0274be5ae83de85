// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class LineChart;
class Theme;

/// The loss of every shown run, with its events.
class LossCard : public LiveCard {
    Q_OBJECT
public:
    LossCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] LineChart *chart() const { return m_chart; }
    [[nodiscard]] ChartSource *picture() const override;
    void showAll() override;

protected:
    void draw(Changes what) override;

private:
    void drawCurves();

    LineChart *m_chart;
};

} // namespace lockstep::ui
