// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/pages/live/live_card.h"

namespace lockstep::ui {
class RunNodesView;
class Theme;

/// The nodes of a shown run; blank while none has several.
class NodesCard : public LiveCard {
    Q_OBJECT
public:
    NodesCard(const Theme &theme, const ShownRuns &shown, QWidget *parent);
    [[nodiscard]] bool isBlank() const override;
    [[nodiscard]] ChartSource *picture() const override;

protected:
    void draw(Changes what) override;

private:
    RunNodesView *m_nodes;
};

} // namespace lockstep::ui
