// SPDX-License-Identifier: MIT
#pragma once
#include <QKeySequence>
#include <QWidget>

#include "app/ui/pages/verdict/suggestion_buttons.h"
#include "models/judgement_model.h"

class QVBoxLayout;

namespace lockstep::ui {
class Theme;

/// The rows of one kind of a verdict's advice: what is unfair, or what bounds each run, each with buttons for the runs that would
/// show more.
class VerdictAdvice : public QWidget {
    Q_OBJECT
public:
    VerdictAdvice(const Theme &theme, core::JudgementModel &model, core::JudgementModel::Kind kind,
                  QWidget *parent = nullptr);
    /// The first are shown, and a line below says so: Qt lays all their texts out whenever a row changes.
    static constexpr int mostRows = 20;
    [[nodiscard]] int count() const { return m_count; } ///< of all rows
    [[nodiscard]] SuggestionButtons &buttons() { return m_buttons; }

Q_SIGNALS:
    void changed(); ///< rows came or went

private:
    void rebuild();
    QWidget *makeRow(int row);
    /// Ctrl+Y, then a letter, for controls; Ctrl+I, then a letter, for what to try.
    [[nodiscard]] QKeySequence nextShortcut() const;
    const Theme &m_theme;
    core::JudgementModel &m_model;
    core::JudgementModel::Kind m_kind;
    QVBoxLayout *m_layout;
    SuggestionButtons m_buttons{this};
    int m_count = 0;
};

} // namespace lockstep::ui
