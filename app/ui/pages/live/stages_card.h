// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class StageView;
class Theme;

/// When the stages of each shown pipeline compute in a mean step.
class StagesCard : public LiveCard {
    Q_OBJECT
public:
    StagesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] StageView *view() const { return m_view; }
    [[nodiscard]] bool isBlank() const override;
    [[nodiscard]] ChartSource *picture() const override;

protected:
    void draw(Changes what) override;

private:
    StageView *m_view;
};

} // namespace lockstep::ui
