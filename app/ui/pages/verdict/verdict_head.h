// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "analysis/compare/cell.h"
#include "app/ui/widgets/card.h"

class QLabel;
class QPushButton;

namespace lockstep::core {
struct ResultTable;
}

namespace lockstep::ui {
class Theme;

/// The verdict in one sentence, large; how far repeats scatter, and what keeps it from being more certain; Export.
class VerdictHead : public Card {
    Q_OBJECT
public:
    explicit VerdictHead(const Theme &theme, QWidget *parent = nullptr);
    /// `complete`: all runs are over.
    void show(const core::ResultTable &table, bool complete);
    /// What would settle it, one press away; absent: the button is hidden.
    void offer(const std::optional<core::SuggestedRun> &rounds);
    [[nodiscard]] QString sentence() const;
    [[nodiscard]] QPushButton *roundsButton() const { return m_addRounds; }
    [[nodiscard]] QPushButton *exportButton() const { return m_export; }

Q_SIGNALS:
    void wanted(const core::SuggestedRun &run);

private:
    void restyle();

    const Theme &m_theme;
    QLabel *m_sentence, *m_repeats, *m_reservations;
    QPushButton *m_addRounds, *m_export;
    core::SuggestedRun m_rounds;
};

} // namespace lockstep::ui
