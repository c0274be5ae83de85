// SPDX-License-Identifier: MIT
#pragma once
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
    [[nodiscard]] QString sentence() const;
    [[nodiscard]] QPushButton *exportButton() const { return m_export; }

private:
    void restyle();

    const Theme &m_theme;
    QLabel *m_sentence, *m_repeats, *m_reservations;
    QPushButton *m_export;
};

} // namespace lockstep::ui
