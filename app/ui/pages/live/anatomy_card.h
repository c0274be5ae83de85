// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class AnatomyView;
class Theme;

/// The mean step of the shown DP and DDP runs, device by device, on one axis.
class AnatomyCard : public LiveCard {
    Q_OBJECT
public:
    AnatomyCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] AnatomyView *view() const { return m_view; }
    [[nodiscard]] bool isBlank() const override;
    [[nodiscard]] ChartSource *picture() const override;

protected:
    void draw(Changes what) override;

private:
    AnatomyView *m_view;
};

} // namespace lockstep::ui
