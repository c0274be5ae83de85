// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <vector>

#include "app/ui/pages/verdict/suggestion_buttons.h"

class QVBoxLayout;

namespace lockstep::ui {

/// Buttons for control runs that would tell a waterfall's settings apart; the most informative ones where there are many.
class VerdictControls : public QWidget {
    Q_OBJECT
public:
    explicit VerdictControls(QWidget *parent = nullptr);
    void setRuns(const std::vector<core::SuggestedRun> &runs);
    [[nodiscard]] SuggestionButtons &buttons() { return m_buttons; }

private:
    void addRow(const core::SuggestedRun &run);
    std::vector<core::SuggestedRun> m_runs;
    QVBoxLayout *m_layout;
    SuggestionButtons m_buttons{this};
};

} // namespace lockstep::ui
