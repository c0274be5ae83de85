// SPDX-License-Identifier: MIT
#pragma once
#include "analysis/compare/repeat_group.h"
#include "app/ui/widgets/card.h"

class QLabel;
class QPushButton;

namespace lockstep::core {
struct Judgement;
struct ResultTable;
} // namespace lockstep::core

namespace lockstep::ui {
class Theme;
class WorthLines;

/// The verdict's lines, what their factors and intervals are, whether a published cause holds here; Export.
class VerdictHead : public Card {
    Q_OBJECT
public:
    explicit VerdictHead(const Theme &theme, QWidget *parent = nullptr);
    /// `complete`: all runs are over.
    void show(const core::ResultTable &table, const core::Judgement &judgement, bool complete);
    [[nodiscard]] QString sentence() const; ///< the lines as sentences, or that there are none yet
    [[nodiscard]] WorthLines *lines() const { return m_lines; }
    [[nodiscard]] QPushButton *exportButton() const { return m_export; }

private:
    void restyle();

    const Theme &m_theme;
    WorthLines *m_lines;
    QLabel *m_none, *m_matters, *m_published, *m_foot;
    QPushButton *m_export;
};

} // namespace lockstep::ui
