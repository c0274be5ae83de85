// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class BarChart;
class Theme;

/// How stale the updates of each shown run with an asynchronous parameter server were: a bar for each staleness.
class UpdatesCard : public LiveCard {
    Q_OBJECT
public:
    UpdatesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] BarChart *chart() const { return m_chart; }
    [[nodiscard]] bool isBlank() const override;
    [[nodiscard]] ChartSource *picture() const override;

protected:
    void draw(Changes what) override;

private:
    BarChart *m_chart;
};

} // namespace lockstep::ui
